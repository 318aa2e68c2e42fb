"""Own sentences with marked ground truth: which word should look at which.

`*word*` is the query and `_word_` its target. Distances vary, so that no fixed offset wins.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

MARKED = re.compile(r"\*(?P<query>\w+)\*|_(?P<target>\w+)_|(?P<plain>\w+|[^\w\s])")

NOUN_OF_DETERMINER = """
*The* old _clock_ stopped at noon .
My uncle repaired *the* broken wooden _chair_ .
We saw *a* small grey _bird_ on the roof .
She bought *the* _house_ near the lake .
*An* honest young _lawyer_ won the case .
They painted *the* long narrow _bridge_ green .
*The* _soup_ was cold and salty .
He found *a* very heavy _stone_ in the garden .
Children like *the* sweet red _apples_ from this tree .
*The* tired _driver_ missed the exit .
I read *a* _letter_ from my sister .
Nobody noticed *the* strange quiet _man_ by the door .
*A* cold strong _wind_ came from the north .
The cook tasted *the* hot _sauce_ again .
*The* new tall white _tower_ was visible for miles .
Our teacher told *a* funny _story_ about a bear .
*The* _river_ rose after the storm .
You should try *the* cheap blue _paint_ first .
The mayor opened *a* large public _garden_ .
*The* little _boat_ left the harbour .
Someone stole *the* expensive gold _watch_ .
*A* clever black _cat_ can open this door .
The farmer sold *the* _horse_ to a neighbour .
We crossed *the* wide dry _field_ before dawn .
"""
VERB_OF_SUBJECT = """
The old _clock_ in the hall *stopped* at noon .
My _uncle_ *repaired* the broken chair .
The _girl_ with the green hat *found* a coin .
The _dogs_ near the gate *barked* all night .
A _letter_ from my sister *arrived* yesterday .
The _teacher_ *told* a funny story about a bear .
The _man_ who sold the car *lives* in this street .
The _children_ from the next village *sang* two songs .
Our _neighbour_ often *visits* the museum .
The _bridge_ over the river *collapsed* in spring .
The young _queen_ of the island *ruled* for ten years .
The _farmer_ *sold* the horse to a stranger .
The _driver_ of the last bus *missed* the exit .
The _keys_ on the kitchen table *belong* to my brother .
The _wind_ from the sea *moved* the curtains .
A _boat_ full of tourists *left* the harbour .
The _judge_ *read* the long report slowly .
The _birds_ in the old tree *ate* the bread .
The _cook_ with the white apron *tasted* the sauce .
This _machine_ *makes* a terrible noise .
The _doctor_ that my friends know *works* at night .
The _soldiers_ behind the wall *heard* the train .
The _baby_ *slept* in the small room .
The _king_ of the northern lands *wrote* a poem .
"""
OBJECT_OF_VERB = """
My uncle *repaired* the broken wooden _chair_ .
The girl *found* a _coin_ under the bench .
She *bought* the old white _house_ near the lake .
The teacher *told* a very funny _story_ about a bear .
The farmer *sold* the _horse_ to a stranger .
We *crossed* the wide dry _field_ before dawn .
The cook *tasted* the hot _sauce_ again .
Someone *stole* the expensive gold _watch_ .
The judge *read* the long boring _report_ slowly .
The birds *ate* the _bread_ in the garden .
They *painted* the long narrow _bridge_ green .
The mayor *opened* a large public _garden_ .
The soldiers *heard* the _train_ in the valley .
The king *wrote* a short sad _poem_ for her .
He *carried* the heavy _box_ up the stairs .
The boy *broke* a _window_ with his ball .
The nurse *cleaned* the small dark _room_ every day .
My friends *watched* the new Italian _film_ twice .
The wind *moved* the _curtains_ of the kitchen .
Our dog *chased* the neighbour 's fat _cat_ .
The company *built* a modern glass _tower_ downtown .
The hunter *followed* the _bear_ into the forest .
The queen *wore* a simple green _dress_ .
The students *solved* the most difficult _problem_ first .
"""
ANTECEDENT_BY_GENDER = """
The _king_ thanked the queen because *he* was saved .
The king thanked the _queen_ because *she* was brave .
The _boy_ called the girl after *he* came home .
The boy called the _girl_ after *she* came home .
My _father_ met my aunt when *he* was young .
My father met my _aunt_ when *she* was young .
The _actress_ left the man before *she* became famous .
The actress left the _man_ before *he* became famous .
The _woman_ saw the boys while *she* was waiting .
The woman saw the _boys_ while *they* were waiting .
The _students_ asked the man because *they* were lost .
The students asked the _man_ because *he* was kind .
The _prince_ wrote to the princess that *he* was ill .
The prince wrote to the _princess_ that *she* was right .
The _mother_ found the boy where *she* expected .
The mother found the _boy_ where *he* was hiding .
The _uncle_ visited the girls because *he* was bored .
The uncle visited the _girls_ because *they* were alone .
The _sister_ helped the men since *she* was strong .
The sister helped the _men_ since *they* were weak .
"""
ANTECEDENT_BY_MEANING = """
The _cat_ sat on the mat because *it* was tired .
The cat sat on the _mat_ because *it* was soft .
The _dog_ left the house because *it* was hungry .
The dog left the _house_ because *it* was burning .
The _bird_ flew over the river while *it* was singing .
The bird flew over the _river_ while *it* was freezing .
The _horse_ crossed the bridge before *it* got tired .
The horse crossed the _bridge_ before *it* got repaired .
The _baby_ sat in the chair until *it* cried .
The baby sat in the _chair_ until *it* broke .
The _lion_ broke the cage because *it* was angry .
The lion broke the _cage_ because *it* was weak .
The _cow_ ate the grass because *it* was hungry .
The cow ate the _grass_ because *it* was fresh .
The _mouse_ ran into the kitchen since *it* was frightened .
The mouse ran into the _kitchen_ since *it* was open .
The _fox_ dug in the garden because *it* was curious .
The fox dug in the _garden_ because *it* was abandoned .
The _rabbit_ liked the carrot because *it* was hungry .
The rabbit liked the _carrot_ because *it* was sweet .
The _frog_ jumped into the pond because *it* was scared .
The frog jumped into the _pond_ because *it* was deep .
The _bear_ entered the cave while *it* was awake .
The bear entered the _cave_ while *it* was empty .
The _ball_ broke the window because *it* was heavy .
The ball broke the _window_ because *it* was thin .
The _truck_ passed the bus because *it* was fast .
The truck passed the _bus_ because *it* was slow .
The _knife_ cut the bread because *it* was sharp .
The knife cut the _bread_ because *it* was soft .
The _river_ flooded the village because *it* was rising .
The river flooded the _village_ because *it* was low .
The _ship_ hit the rock because *it* was fast .
The ship hit the _rock_ because *it* was hidden .
The _fire_ destroyed the barn because *it* was spreading .
The fire destroyed the _barn_ because *it* was wooden .
The _plane_ landed on the road because *it* was damaged .
The plane landed on the _road_ because *it* was straight .
The _hammer_ broke the cup because *it* was heavy .
The hammer broke the _cup_ because *it* was fragile .
The _spider_ caught the fly because *it* was patient .
The spider caught the _fly_ because *it* was careless .
The _wolf_ chased the sheep because *it* was hungry .
The wolf chased the _sheep_ because *it* was alone .
The _snake_ swallowed the egg because *it* was starving .
The snake swallowed the _egg_ because *it* was small .
The _storm_ ruined the tent because *it* was violent .
The storm ruined the _tent_ because *it* was cheap .
"""
RELATIONS = {
    "determiner → noun": NOUN_OF_DETERMINER,
    "verb → subject": VERB_OF_SUBJECT,
    "subject → verb": re.sub(
        r"\*(\w+)\*|_(\w+)_", lambda m: f"_{m[1]}_" if m[1] else f"*{m[2]}*", VERB_OF_SUBJECT
    ),
    "verb → object": OBJECT_OF_VERB,
    "pronoun → antecedent": ANTECEDENT_BY_GENDER,
}


@dataclass(frozen=True)
class Example:
    """A sentence as words, with the places of the query and of its target."""

    words: list[str]
    query: int
    target: int


def examples(text: str) -> Iterator[Example]:
    """The sentences of a marked text, one a line."""
    for line in text.strip().splitlines():
        found = list(MARKED.finditer(line))
        kinds = [match.lastgroup for match in found]
        words = [match[match.lastgroup].lower() for match in found]
        yield Example(words, kinds.index("query"), kinds.index("target"))
