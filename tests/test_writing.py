"""Stories, the writer that learns them, and the record of chapter 16."""

import math
from copy import deepcopy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from mha_utils.core.steps import attention_scores, attention_weights, causal_mask
from mha_utils.experiments.scores import without_head
from mha_utils.museum.masking import CausalShowsTheNext
from mha_utils.writing import stories as telling
from mha_utils.writing import training as writing
from mha_utils.writing.stories import (
    CHOICES,
    END,
    HERS,
    LONGEST,
    NAMES,
    TOLD,
    answers,
    floor,
    marks,
    mean_marks,
    number_of_stories,
    questions,
    stories,
)
from mha_utils.writing.writer import (
    IDS,
    LETTERS,
    PADDING,
    Writer,
    decode,
    draw,
    encode,
    go_on,
    heads_of,
    new_caches,
    readable_names,
    usable_choice,
    usable_heads,
    usable_start,
    usual_chances,
    write,
)

RUTH = (
    "Once there was a quiet fox called Ruth. One day she found a blue bell in the barn. "
    "She hid it in a box. That night Ruth and her bell sang all night."
)


def test_a_seed_always_tells_the_same():
    assert stories(5, seed=3) == stories(5, seed=3)
    assert stories(5, seed=3) != stories(5, seed=4)
    assert len(set(stories(300))) > 295


def test_every_story_gets_full_marks():
    assert mean_marks(stories(200)) == dict.fromkeys(("words", "pronoun", "name", "thing"), 1.0)


@pytest.mark.parametrize(
    ("old", "new", "mark"),
    [
        ("day she", "day he", "pronoun"),
        ("She hid", "He hid", "pronoun"),
        ("her bell", "his bell", "pronoun"),
        ("night Ruth", "night Mia", "name"),
        ("her bell", "her lamp", "thing"),
        ("bell in", "lamp in", "thing"),
    ],
)
def test_one_slip_costs_one_mark(old, new, mark):
    assert set(marks(RUTH).values()) == {1.0}
    assert old in RUTH
    found = marks(RUTH.replace(old, new))
    assert {name for name, share in found.items() if share < 1} == {mark}


def test_a_word_that_does_not_exist_costs_its_share():
    found = marks(RUTH.replace("blue", "bleu"))
    assert found["words"] == pytest.approx(1 - 1 / len(RUTH.split()))
    assert found["thing"] == 1
    assert marks("Once hig the") == {"words": 2 / 3, "pronoun": 0, "name": 0, "thing": 0}
    assert marks("") == dict.fromkeys(("words", "pronoun", "name", "thing"), 0.0)


def test_no_story_no_marks():
    with pytest.raises(ValueError, match="expected at least one story, got none"):
        mean_marks([])


def test_the_number_of_stories_is_what_the_dice_can_tell(monkeypatch):
    few = {part: options[:2] for part, options in CHOICES.items()}
    monkeypatch.setattr(telling, "CHOICES", few)
    number_of_stories.cache_clear()
    told = len({telling.story(telling.random.Random(seed)) for seed in range(20_000)})
    assert told == number_of_stories() == 8 * 2**7
    monkeypatch.undo()
    number_of_stories.cache_clear()


def test_longest_is_the_longest():
    longest = {part: (max(options, key=len),) for part, options in CHOICES.items()}
    names = {she: (max(options, key=len),) for she, options in NAMES.items()}
    parts = {part: options[0] for part, options in longest.items()}
    lengths = [
        len(TOLD.format(name=n, she=s, She=s.capitalize(), her=HERS[s], **parts))
        for s, (n,) in names.items()
    ]
    assert max(lengths) + len(END) == LONGEST


def test_the_floor_is_the_surprise_of_the_dice():
    told = stories(50)
    assert floor(told) * sum(map(len, told)) == pytest.approx(50 * math.log(294_912))


def test_letters_go_there_and_back():
    assert decode(encode([RUTH + END])[0]) == RUTH
    rows = encode(["abc", "a"], 5)
    assert rows.shape == (2, 5)
    assert (rows[1, 1:] == PADDING).all()
    assert encode(["abc", "a"]).shape == (2, 3)
    assert len(IDS) == len(LETTERS) - 1
    with pytest.raises(ValueError, match=r"letters of the stories, got \['#', 'Z'\]"):
        encode(["Z#"])
    with pytest.raises(ValueError, match=r"got \[\]"):
        encode([])


@pytest.fixture(scope="module")
def small():
    torch.manual_seed(1)
    return Writer(16, 2, 2).eval()


def test_a_writer_does_not_see_the_future(small):
    one, other = encode(["Once there was a fox", "Once there was a hen"])
    same = int((one != other).nonzero()[0])
    scores = small(torch.stack([one, other]))
    torch.testing.assert_close(scores[0, :same], scores[1, :same])
    assert not torch.allclose(scores[0, same], scores[1, same])


@torch.no_grad()
def test_a_cache_changes_nothing_but_the_work(small):
    letters, caches = encode([RUTH, RUTH[5:]]), new_caches(small, 2)
    parts = [
        go_on(small, part, caches) for part in letters.split((3, 1, letters.shape[1] - 4), dim=1)
    ]
    torch.testing.assert_close(torch.cat(parts, dim=1), small(letters))
    assert write(small, "One", 3, seed=2) == write(small, "One", 3, seed=2, cached=False)


def test_a_story_begins_as_asked_and_ends(small):
    texts = write(small, "That night", 4)
    assert len(texts) == 4
    assert len(set(texts)) == 4
    assert all(text.startswith("That night") for text in texts)
    assert max(map(len, texts)) <= LONGEST
    assert write(small, "Once") == write(small, "Once")
    assert write(small, "Once") != write(small, "Once", seed=1)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"start": ""}, "letters must be an integer of at least 1, got 0"),
        ({"start": "a" * 200}, f"start must have at most {LONGEST} letters, got 200"),
        ({"number": 0}, "number must be an integer of at least 1, got 0"),
        ({"temperature": 0.0}, "temperature must be"),
        ({"start": "Äh"}, r"got \['Ä'\]"),
    ],
)
def test_wrong_calls_are_answered(small, options, problem):
    with pytest.raises(ValueError, match=problem):
        write(small, **options)


def test_letters_are_drawn_as_often_as_their_chances_say():
    chances = torch.tensor([0.1, 0.2, 0.0, 0.7])
    generator = torch.Generator().manual_seed(0)
    drawn = draw(chances.expand(20_000, -1), generator)
    often = drawn.flatten().bincount(minlength=4) / 20_000
    assert often[2] == 0
    torch.testing.assert_close(often, chances, atol=0.015, rtol=0)


def test_whoever_writes_may_choose(small):
    """The temperature comes first, then the choice: here always the likeliest letter."""
    seen = []

    def likeliest(scores):
        seen.append(scores)
        return F.one_hot(scores.argmax(dim=-1), scores.shape[-1]).double()

    one, other = (write(small, RUTH, 2, heat, choose=likeliest) for heat in (0.5, 1.0))
    assert one == other
    assert one[0] == one[1]
    torch.testing.assert_close(seen[0] / 2, seen[len(seen) // 2])


def test_a_whole_story_may_be_asked_for(capsys):
    assert usable_start(RUTH, LONGEST) == RUTH
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("text", "kept", "said"),
    [
        ("Once", "Once", ""),
        ("Öne fox", "ne fox", "The stories have no 'Ö'"),
        ("#", "Once", "We go on with “Once”"),
        ("a" * 82, "a" * 81, "That is longer than we can use here. We go on with the first 81 "),
    ],
)
def test_a_beginning_is_made_usable(capsys, text, kept, said):
    assert usable_start(text) == kept
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("names", "kept", "said"),
    [
        (["Mia", "Ruth"], ["Mia", "Ruth"], ""),
        (["Anna", "Aida"], ["nna", "ida"], "The stories have no 'A', so"),
        ("Bo", ["Bo"], ""),
        (["Mia", "", 42], ["Mia"], "A name has 1 to 20 letters: we leave out the rest."),
        (["o" * 21], ["o" * 20], "A name has 1 to 20 letters: we leave out the rest."),
        ([], ["Mia"], "No name is left. We go on with Mia."),
    ],
)
def test_names_are_made_usable(capsys, names, kept, said):
    assert readable_names(names) == kept
    assert said in (printed := capsys.readouterr().out)
    assert bool(printed) == bool(said)


@pytest.mark.parametrize(
    ("names", "kept", "said"),
    [
        ("0.1 0.0", ["0.1", "0.0"], ""),
        (["0.1", 0.0, "0.1"], ["0.1", "0.0"], ""),
        (["0.1", "all", 1.3], ["0.1"], "This writer has no head all or 1.3, only 0.0, 0.1.\n"),
        ([], [], ""),
    ],
)
def test_heads_are_those_of_the_model(capsys, names, kept, said):
    assert usable_heads(names, Writer(4, 2, 1)) == kept
    assert capsys.readouterr().out == said


def test_a_model_may_have_no_heads(capsys):
    model = Writer(4, 2, 2, attention=lambda width, _: nn.Linear(width, width))
    assert heads_of(model) == usable_heads("0.0", model) == []
    assert capsys.readouterr().out == "This writer has no head 0.0.\n"


@pytest.mark.parametrize(
    ("choose", "is_usable"),
    [
        (lambda scores: (2 * scores).softmax(dim=-1), True),
        (lambda scores: scores.double().softmax(dim=-1), True),
        (lambda scores: ..., False),
        (lambda scores: None, False),
        (lambda scores: scores, False),
        (lambda scores: scores.softmax(dim=0), False),
        (lambda scores: scores[:, :3].softmax(dim=-1), False),
        (lambda scores: scores.no_such_thing(), False),
    ],
)
def test_a_choice_has_to_give_chances(capsys, choose, is_usable):
    found = usable_choice(choose)
    assert found is (choose if is_usable else usual_chances)
    assert ("gives no chances yet" in capsys.readouterr().out) != is_usable


@pytest.mark.parametrize("name", writing.LESSONS)
def test_the_record_is_complete(name):
    lesson, rows = writing.LESSONS[name], writing.recorded(name)
    assert [[row["step"] for row in seen] for seen in rows] == [[*lesson.kept]] * len(writing.SEEDS)
    for measured in (row for seen in rows for row in seen):
        marks = {"words", "pronoun", "name", "thing"}
        assert set(measured) == {"step", "text", "loss", "remembered"} | marks
        assert set(measured["remembered"]) == marks - {"words"}


class Sure(Writer):
    """It is sure of these letters, whatever it has read."""

    def __init__(self, letters):
        super().__init__(2, 1, 1)
        self.letters = letters

    def forward(self, letters):
        return F.one_hot(self.letters[:, 1:], len(LETTERS)).float()


def test_memory_is_asked_for_where_only_memory_helps():
    """One that knows the story is always right; “s” for ever is right in half of the pronouns."""
    told = stories(400, seed=3)
    assert [RUTH[place] for place in questions(RUTH).values()] == ["s", "R", "b"]
    assert writing.remembered(Sure(encode(told)), told) == {"pronoun": 1, "name": 1, "thing": 1}
    found = writing.remembered(Sure(torch.full_like(encode(told), IDS["s"])), told)
    assert abs(found["pronoun"] - 0.5) < 0.1
    assert (found["name"], found["thing"]) == (0, 0)
    with pytest.raises(ValueError, match="expected a story, got 'Once'"):
        questions("Once")


def test_the_answer_stands_where_it_was_told_first():
    words = {asked: RUTH[word] for asked, word in answers(RUTH).items()}
    assert words == {"pronoun": "Ruth", "name": "Ruth", "thing": "bell"}
    assert answers(RUTH)["thing"].start == RUTH.index("bell")
    with pytest.raises(ValueError, match="expected a story, got 'Once'"):
        answers("Once")


def test_looks_at_answers_are_sums_of_the_maps(small):
    """The mean of two stories: in the whole map, the row in front of each question."""
    expected = {"pronoun": [], "name": [], "thing": []}
    texts = [RUTH, *stories(1, seed=5)]
    for text in texts:
        q, k = writing.queries_and_keys(small, text)
        maps = attention_weights(attention_scores(q, k), causal_mask(len(text)))
        for asked, rows in expected.items():
            rows.append(maps[:, questions(text)[asked] - 1, answers(text)[asked]].sum(dim=-1))
    found = writing.looks_at_answers(small, texts)
    assert list(found) == list(expected)
    for asked, rows in expected.items():
        assert found[asked].shape == (4,)  # two heads in each of two blocks
        torch.testing.assert_close(found[asked], sum(rows) / 2)


def test_there_is_no_other_lesson():
    with pytest.raises(ValueError, match="lesson must be 'right' or"):
        writing.recorded("French")


def test_a_lesson_comes_out_as_recorded():
    """The first 25 steps; another processor rounds differently, so not to the last digit."""
    lesson = writing.Lesson(CausalShowsTheNext, (0, 25))
    before, after = writing.learn(lesson, 0)[1]
    stored = writing.recorded("sees the next")[0]
    assert before["loss"] == pytest.approx(stored[0]["loss"], abs=0.001)
    assert after["loss"] == pytest.approx(stored[1]["loss"], rel=0.1)


def test_the_stored_writer_writes_stories():
    model = writing.recorded_writer()
    last = writing.recorded("right")[0][-1]
    loss = writing.loss_of(model, stories(64, seed=7)).item()
    assert loss == pytest.approx(last["loss"], abs=0.003)  # stored in 16 bits
    found = mean_marks(write(model, number=20))
    assert min(found.values()) > 0.85


@torch.no_grad()
def test_without_head_hands_on_nothing_from_it(small):
    less, before = without_head(small, 1, 1), deepcopy(small.state_dict())
    letters = encode(["Once there was a fox"])
    into = []
    hook = small.blocks[1].attention.out_proj.register_forward_pre_hook(
        lambda _, inputs: into.append(inputs[0])
    )
    out = [model.blocks[1].attention(small.embed(letters)) for model in (small, less)]
    hook.remove()
    lost = into[0][..., 8:] @ small.blocks[1].attention.out_proj.weight[:, 8:].T
    torch.testing.assert_close(out[0] - out[1], lost)
    torch.testing.assert_close(small.state_dict(), before)  # the writer itself is unchanged
    first = small.blocks[0].state_dict()
    torch.testing.assert_close(less.blocks[0].state_dict(), first)  # nor is any other block


def test_the_command_records_what_it_learns_and_keeps_the_rest(tmp_path, monkeypatch, capsys):
    torch.manual_seed(0)
    writers, learned = [Writer() for _ in range(6)], []

    def learn(lesson, seed):
        learned.append((lesson, seed))
        n = len(learned) - 1
        return writers[n % 6], [{"loss": n}, {"loss": n + 0.5}]

    monkeypatch.setattr(writing, "learn", learn)
    monkeypatch.setattr(writing, "SEEDS", (0, 1))
    for name in ("RECORD", "WEIGHTS"):
        monkeypatch.setattr(writing, name, tmp_path / getattr(writing, name).name)
    for arguments in ([], ["wrong merge"]):
        monkeypatch.setattr("sys.argv", ["writing", *arguments])
        writing.main()
    names = [*writing.LESSONS]
    asked = [*names, "wrong merge"]
    assert learned == [(writing.LESSONS[name], seed) for name in asked for seed in (0, 1)]
    first = {"right": 0, "sees the next": 2, "wrong merge": 6}
    for name, n in first.items():
        expected = [[{"loss": m}, {"loss": m + 0.5}] for m in (n, n + 1)]
        assert writing.recorded(name, writing.RECORD) == expected
    lines = writing.RECORD.read_text("utf-8").splitlines()
    assert lines[0] == f'{{"torch": "{torch.__version__}",'
    assert len([line for line in lines if line.startswith("[{")]) == 6  # a seed a line
    assert len(capsys.readouterr().out.splitlines()) == len(learned)
    for name, numbers in writing.recorded_writer().state_dict().items():
        assert torch.equal(numbers, writers[0].state_dict()[name].half().float()), name
