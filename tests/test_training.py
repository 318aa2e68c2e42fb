"""The training loop: seeds, batching of seeds, and what a model is made of."""

from dataclasses import replace

import torch

from mha_utils import MultiHeadAttention, attention, split_heads
from mha_utils.experiments.grammar import Grammar
from mha_utils.experiments.model import Shape, fourier
from mha_utils.experiments.plain import WordModel, first_weights, learn
from mha_utils.experiments.scores import mass_on, without_head
from mha_utils.experiments.tasks import Lookups, RepeatedBlock, ThreeRelations
from mha_utils.experiments.train import Diary, Recipe, evaluate, train

SHORT = Recipe(6, batch_size=4, warm_up=2)
SHAPE = Shape(num_heads=2, head_dim=4, embed_dim=8)
RELATIONS = ThreeRelations()


def numbers(model):
    return torch.cat([p.flatten() for p in model.parameters()])


def test_a_seed_gives_the_same_model_alone_and_among_others():
    (alone,) = train(RELATIONS, SHAPE, SHORT, (1,))
    among = train(RELATIONS, SHAPE, SHORT, (0, 1, 2))
    (again,) = train(RELATIONS, SHAPE, SHORT, (1,))
    (first,) = train(RELATIONS, SHAPE, SHORT)  # seed 0
    assert torch.allclose(numbers(first), numbers(among[0]), atol=1e-5)
    assert torch.equal(numbers(alone), numbers(again))
    assert torch.allclose(numbers(alone), numbers(among[1]), atol=1e-5)
    assert not torch.allclose(numbers(among[0]), numbers(among[1]), atol=1e-2)


def test_training_leaves_the_global_random_numbers_alone():
    torch.manual_seed(0)
    before = torch.rand(3)
    torch.manual_seed(0)
    train(RELATIONS, SHAPE, SHORT)
    assert torch.equal(torch.rand(3), before)


def test_a_fresh_model_asks_no_gpu_for_its_random_numbers(monkeypatch):
    forked, fork = [], torch.random.fork_rng
    monkeypatch.setattr(torch.random, "fork_rng", lambda **o: forked.append(o) or fork(**o))
    train(RELATIONS, SHAPE, Recipe(0), (0, 1))
    assert forked == [{"devices": []}] * 2


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


def plain_twin(small):
    """The `WordModel` with the weights of a `SmallModel` on the language."""
    attention = small.layers[0].attention
    heads, width = attention.num_heads, attention.out_proj.in_features // attention.num_heads
    words, d = small.embed.weight.shape
    twin = WordModel(words, len(small.waves), d, heads)
    named = {"words.weight": small.embed.weight, "places.weight": small.place.weight.T}
    named |= {f"readout.{n}": p for n, p in small.readout.named_parameters()}
    for h in range(heads):
        own = slice(h * width, (h + 1) * width)
        for name in ("q_proj", "k_proj", "v_proj"):
            named[f"heads.{h}.{name}.weight"] = getattr(attention, name).weight[own]
        named[f"heads.{h}.out_proj.weight"] = attention.out_proj.weight[:, own]
    twin.load_state_dict(named)
    return twin


def test_the_plain_model_and_loop_of_chapter_02_are_the_recorded_ones():
    task, shape = Grammar(), Shape(2, 4, 8, causal=True)
    (small,) = train(task, shape, Recipe(0, start=1.2, look=0.15), (3,))
    twin = plain_twin(small)
    inputs = task.draw(5, torch.Generator().manual_seed(0)).inputs
    for got, expected in zip(
        (twin(inputs)[0], twin(inputs)[1]), (small(inputs)[0], *small(inputs)[1])
    ):
        assert torch.allclose(got, expected, atol=1e-5)
    (trained,) = train(task, shape, replace(SHORT, start=1.2, look=0.15), (3,))
    learned = learn(twin, task, SHORT, seed=3)
    assert torch.allclose(learned(inputs)[0], trained(inputs)[0], atol=1e-4)
    assert not learned.training


def test_first_weights_are_small_for_queries_and_keys():
    recipe = Recipe(0, start=1.2, look=0.15)
    model = first_weights(WordModel(70, 29, 48, 2), recipe, 0)
    sizes = {n: p.std().item() * 48**0.5 for n, p in model.named_parameters()}
    for name, expected in {
        "words": 2,
        "places": 2,
        "heads.0.q_proj": 0.18,
        "heads.1.v_proj": 1.2,
    }.items():
        assert abs(sizes[f"{name}.weight"] / expected - 1) < 0.1
    again = first_weights(WordModel(70, 29, 48, 2), recipe, 0)
    assert torch.equal(again.words.weight, model.words.weight)
    assert abs(sizes["readout.weight"] / 48**0.5 - (3 * 48) ** -0.5) < 0.01  # as torch makes it


def test_a_uniform_model_never_starts_to_look():
    task, recipe = Grammar(), Recipe(5, batch_size=4, warm_up=2)
    shape = Shape(2, 4, 8, causal=True, uniform=True)
    (small,) = train(task, shape, recipe, (0,))
    model = WordModel(task.num_symbols, task.seq_len, 8, 2)
    plain = first_weights(model, recipe, 0, uniform=True)
    past = torch.ones(29, 29).tril()
    for model in (small, learn(plain, task, recipe)):
        _, _, weights = evaluate(model, task, 3)
        weights = weights[0] if isinstance(weights, list) else weights
        assert torch.allclose(weights, (past / past.sum(dim=-1, keepdim=True)).expand_as(weights))


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


@torch.no_grad()
def queries_keys_values(model, inputs):
    """q, k and v of the first layer, each (B, H, T, Dh)."""
    x, positions = model._start(inputs)
    values, layer = model.layers[0].norm(x), model.layers[0].attention
    projections = ((layer.q_proj, values + positions), (layer.k_proj, values + positions))
    projections += ((layer.v_proj, values),)
    return [split_heads(project(t), layer.num_heads) for project, t in projections]


def test_heads_are_this_project_s_module_and_chapter_01_s_attention():
    (model,) = train(RELATIONS, SHAPE, SHORT)
    assert isinstance(model.layers[0].attention, MultiHeadAttention)
    _, batch, maps = evaluate(model, RELATIONS, 5)
    q, k, v = queries_keys_values(model, batch.inputs)
    _, weights = attention(q, k, v)
    assert torch.allclose(weights, maps[0], atol=1e-6)


def test_queries_of_a_model_with_norm_and_positions_in_q_and_k_only():
    task = RepeatedBlock()
    (model,) = train(task, Shape(2, 4, 8, causal=True, norm=True), SHORT)
    _, batch, maps = evaluate(model, task, 5)
    _, weights = attention(
        *queries_keys_values(model, batch.inputs), torch.ones(32, 32, dtype=torch.bool).tril()
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
    heads = attention(*queries_keys_values(model, inputs))[0]
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


def test_256_sequences_are_looked_at():
    (model,) = train(RELATIONS, SHAPE, Recipe(0))
    _, batch, _ = evaluate(model, RELATIONS)
    assert len(batch.inputs) == 256


def test_a_diary_notes_accuracy_and_the_best_head_of_a_layer():
    task, shape = RepeatedBlock(), replace(SHAPE, num_layers=2, causal=True, norm=True)
    diary = Diary(task, {"first": (0, "previous"), "last": (-1, "induction")})
    (model,) = train(task, shape, SHORT, watch=diary, every=4)
    assert diary.steps == [0, 4, 6]
    scores, batch, maps = evaluate(model, task, 64)
    assert diary.accuracy[-1] == scores["repeat"]
    assert len(diary.accuracy) == 3
    for name, of_layer, places in (("first", maps[0], "previous"), ("last", maps[1], "induction")):
        best = mass_on(of_layer, task.places(batch)[places]).max().item()
        assert diary.scores[name][-1] == best
        assert len(diary.scores[name]) == 3
