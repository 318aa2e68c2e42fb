"""The training loop: seeds, batching of seeds, and what a model is made of."""

import torch

from mha_utils import MultiHeadAttention, attention
from mha_utils.experiments.model import Shape, fourier
from mha_utils.experiments.scores import without_head
from mha_utils.experiments.tasks import Lookups, RepeatedBlock, ThreeRelations
from mha_utils.experiments.train import Recipe, evaluate, train

SHORT = Recipe(6, batch_size=4, warm_up=2)
SHAPE = Shape(num_heads=2, head_dim=4, embed_dim=8)
RELATIONS = ThreeRelations()


def numbers(model):
    return torch.cat([p.flatten() for p in model.parameters()])


def test_a_seed_gives_the_same_model_alone_and_among_others():
    (alone,) = train(RELATIONS, SHAPE, SHORT, (1,))
    among = train(RELATIONS, SHAPE, SHORT, (0, 1, 2))
    (again,) = train(RELATIONS, SHAPE, SHORT, (1,))
    assert torch.equal(numbers(alone), numbers(again))
    assert torch.allclose(numbers(alone), numbers(among[1]), atol=1e-5)
    assert not torch.allclose(numbers(among[0]), numbers(among[1]), atol=1e-2)


def test_training_leaves_the_global_random_numbers_alone():
    torch.manual_seed(0)
    before = torch.rand(3)
    torch.manual_seed(0)
    train(RELATIONS, SHAPE, SHORT)
    assert torch.equal(torch.rand(3), before)


def test_training_equals_a_plain_loop():
    """One model, `backward`, `Adam`: no vmap, no stacked seeds."""
    (start,) = train(RELATIONS, SHAPE, Recipe(0), (3,))
    (trained,) = train(RELATIONS, SHAPE, SHORT, (3,))
    optimizer = torch.optim.Adam(start.parameters(), SHORT.lr, betas=(0.9, 0.98))
    generator = torch.Generator().manual_seed(3)
    for step in range(SHORT.steps):
        for group in optimizer.param_groups:
            group["lr"] = SHORT.lr * SHORT.pace(step)
        batch = RELATIONS.draw(SHORT.batch_size, generator)
        optimizer.zero_grad()
        RELATIONS.loss(start(batch.inputs)[0], batch.targets).backward()
        optimizer.step()
    assert torch.allclose(numbers(start), numbers(trained), atol=1e-5)


def test_pace_warms_up_and_comes_down():
    recipe = Recipe(100, warm_up=10, end=0.05)
    paces = [recipe.pace(step) for step in range(101)]
    assert paces[0] == 0.1
    assert max(paces) == paces[9] == paces[10] == 1.0
    assert paces[10:] == sorted(paces[10:], reverse=True)
    assert abs(paces[100] - 0.05) < 1e-9


def test_watch_is_called_at_the_start_in_between_and_at_the_end():
    seen = []
    final = train(RELATIONS, SHAPE, SHORT, (0, 1), lambda s, m: seen.append((s, numbers(m[0]))), 4)
    assert [step for step, _ in seen] == [0, 4, 6]
    assert torch.equal(seen[-1][1], numbers(final[0]))
    assert not torch.equal(seen[0][1], seen[1][1])


def test_the_progress_bar_leaves_nothing(capfd):
    train(RELATIONS, SHAPE, SHORT)
    assert capfd.readouterr() == ("", "")


def test_heads_are_this_project_s_module_and_chapter_01_s_attention():
    (model,) = train(RELATIONS, SHAPE, SHORT)
    assert isinstance(model.layers[0].attention, MultiHeadAttention)
    _, batch, maps = evaluate(model, RELATIONS, 5)
    q, k, v = model.queries_keys_values(batch.inputs)
    _, weights = attention(q, k, v)
    assert torch.allclose(weights, maps[0], atol=1e-6)


def test_queries_of_a_model_with_norm_and_positions_in_q_and_k_only():
    task = RepeatedBlock()
    (model,) = train(task, Shape(2, 4, 8, causal=True, norm=True), SHORT)
    _, batch, maps = evaluate(model, task, 5)
    _, weights = attention(
        *model.queries_keys_values(batch.inputs), torch.ones(32, 32, dtype=torch.bool).tril()
    )
    assert torch.allclose(weights, maps[0], atol=1e-6)
    assert (maps[0].triu(1) == 0).all()


def test_models_of_one_budget_have_equally_many_parameters():
    sizes = {
        sum(p.numel() for p in train(Lookups(), Shape(h, 48 // h), Recipe(0))[0].parameters())
        for h in (1, 2, 3, 16, 48)
    }
    assert len(sizes) == 1


def test_values_of_lookups_carry_no_position():
    """Else a head could hand over its own weights, and the theorem would not hold."""
    (model,) = train(Lookups(), Shape(1, 48), Recipe(0))
    nothing = torch.zeros(2, 12, 8)
    outputs, _ = model(nothing)
    assert torch.allclose(outputs, model.readout.bias.expand_as(outputs), atol=1e-6)


def test_without_head_hands_over_nothing_from_it():
    (model,) = train(RELATIONS, SHAPE, SHORT)
    inputs = RELATIONS.draw(3, torch.Generator().manual_seed(0)).inputs
    before, _ = model(inputs)
    one = without_head(model, 0, 1)
    layer = model.layers[0].attention
    heads = attention(*model.queries_keys_values(inputs))[0]
    lost = heads[:, 1] @ layer.out_proj.weight[:, 4:].T
    assert torch.allclose(before - one(inputs)[0], lost @ model.readout.weight.T, atol=1e-5)
    assert torch.equal(model(inputs)[0], before)  # the model itself is unchanged


def test_fourier_tells_all_positions_apart():
    waves = fourier(12)
    apart = torch.cdist(waves, waves) + torch.eye(12)
    assert waves.shape == (12, 12)
    assert apart.min() > 0.9


def test_trained_models_come_in_evaluation():
    watched = []
    final = train(RELATIONS, SHAPE, Recipe(1, batch_size=2), (0, 1), lambda _, m: watched.extend(m))
    assert not any(model.training for model in [*final, *watched])
