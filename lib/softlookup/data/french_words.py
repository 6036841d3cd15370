"""The words of the French-English grammar, with the forms that the grammar needs."""

from dataclasses import dataclass

PERSON, ANIMAL, FOOD, THING, PLACE = "person", "animal", "food", "thing", "place"


@dataclass(frozen=True)
class Noun:
    """A noun with its forms in both languages; ``kind`` says which verbs and adjectives fit.

    Chapter: seq2seq#a-small-french-english-grammar
    """

    singular: str
    plural: str
    gender: str
    english: str
    english_plural: str
    kind: str


@dataclass(frozen=True)
class Adjective:
    """An adjective; ``before`` says whether it stands before its noun in French.

    In English all do, and one that is a ``feeling`` stands first: "the sad little king".

    Chapter: seq2seq#a-small-french-english-grammar
    """

    masculine: str
    before_vowel: str
    feminine: str
    masculine_plural: str
    feminine_plural: str
    english: str
    before: bool
    feeling: bool
    kinds: frozenset[str]


@dataclass(frozen=True)
class Verb:
    """A verb: ``particle`` stands before the English object, ``tail`` after it.

    ``present`` holds the forms for je, tu, il, nous, vous, ils.

    Chapter: seq2seq#a-small-french-english-grammar
    """

    present: tuple[str, ...]
    participle: str
    english: str
    third: str
    past: str
    subjects: frozenset[str]
    objects: frozenset[str]
    particle: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    weight: float = 1.0


def _nouns(table: str) -> tuple[Noun, ...]:
    return tuple(Noun(*line.split()) for line in table.strip().splitlines())


def _adjectives(before: bool, feeling: bool, table: str) -> tuple[Adjective, ...]:
    rows = [line.split() for line in table.strip().splitlines()]
    return tuple(Adjective(*row[:6], before, feeling, frozenset(row[6:])) for row in rows)


def _verb(present: str, participle: str, english: str, subjects: str, objects: str = "",
          *, particle: str = "", tail: str = "", weight: float = 1.0) -> Verb:  # fmt: skip
    kinds = frozenset(subjects.split()), frozenset(objects.split())
    parts = tuple(particle.split()), tuple(tail.split())
    return Verb(tuple(present.split()), participle, *english.split(), *kinds, *parts, weight)


NOUNS = _nouns("""
garçon garçons m boy boys person
enfant enfants m child children person
ami amis m friend friends person
roi rois m king kings person
reine reines f queen queens person
voisine voisines f neighbour neighbours person
étudiante étudiantes f student students person
chat chats m cat cats animal
cheval chevaux m horse horses animal
souris souris f mouse mice animal
oiseau oiseaux m bird birds animal
âne ânes m donkey donkeys animal
pomme pommes f apple apples food
tarte tartes f pie pies food
gâteau gâteaux m cake cakes food
livre livres m book books thing
lettre lettres f letter letters thing
image images f picture pictures thing
maison maisons f house houses place
jardin jardins m garden gardens place
école écoles f school schools place
""")

ADJECTIVES = (
    *_adjectives(True, False, """
petit petit petite petits petites little person animal food thing place
vieux vieil vieille vieux vieilles old person animal thing place
grand grand grande grands grandes big animal food thing place
beau bel belle beaux belles beautiful animal food thing place
jeune jeune jeune jeunes jeunes young person animal
"""),
    *_adjectives(False, False, """
noir noir noire noirs noires black animal
blanc blanc blanche blancs blanches white animal place
rouge rouge rouge rouges rouges red food thing place
"""),
    *_adjectives(False, True, """
heureux heureux heureuse heureux heureuses happy person animal
triste triste triste tristes tristes sad person animal
intelligent intelligent intelligente intelligents intelligentes clever person animal
"""),
)  # fmt: skip

VERBS = (
    _verb("dors dors dort dormons dormez dorment", "dormi", "sleep sleeps slept", "person animal"),
    _verb("ris ris rit rions riez rient", "ri", "laugh laughs laughed", "person"),
    _verb("chante chantes chante chantons chantez chantent", "chanté", "sing sings sang", "person"),
    _verb("vois vois voit voyons voyez voient", "vu", "see sees saw",
          "person animal", "person animal food thing place"),
    _verb("trouve trouves trouve trouvons trouvez trouvent", "trouvé", "find finds found",
          "person animal", "person animal food thing place"),
    _verb("aime aimes aime aimons aimez aiment", "aimé", "love loves loved",
          "person", "person animal"),
    _verb("regarde regardes regarde regardons regardez regardent", "regardé",
          "watch watches watched", "person animal", "person animal place"),
    _verb("entarte entartes entarte entartons entartez entartent", "entarté", "hit hits hit",
          "person", "person", tail="with a pie", weight=0.3),
    _verb("mange manges mange mangeons mangez mangent", "mangé", "eat eats ate",
          "person animal", "food"),
    _verb("perds perds perd perdons perdez perdent", "perdu", "lose loses lost",
          "person", "thing"),
    _verb("achète achètes achète achetons achetez achètent", "acheté", "buy buys bought",
          "person", "food thing"),
)  # fmt: skip

AUXILIARY = ("ai", "as", "a", "avons", "avez", "ont")
PRONOUNS = (
    ("je", 0, "I"), ("tu", 1, "you"), ("il", 2, "he"), ("elle", 2, "she"),
    ("nous", 3, "we"), ("vous", 4, "you"), ("ils", 5, "they"), ("elles", 5, "they"),
)  # fmt: skip
"""Subjects: the French word, the verb form it takes, the English word."""
CLITICS = (
    ("me", 0, "m f", "me"), ("te", 1, "m f", "you"), ("le", 2, "m", "him"), ("la", 2, "f", "her"),
    ("nous", 3, "m f", "us"), ("vous", 4, "m f", "you"), ("les", 5, "m f", "them"),
)  # fmt: skip
"""Objects before the verb: the French word, its person, its possible genders, the English word."""
DETERMINERS = {
    "the": ("le", "le", "la", "la", "les"),
    "a": ("un", "un", "une", "une", "des"),
    "this": ("ce", "cet", "cette", "cette", "ces"),
    "my": ("mon", "mon", "ma", "mon", "mes"),
    "our": ("notre", "notre", "notre", "notre", "nos"),
}
"""Masculine, masculine before a vowel, feminine, feminine before a vowel, plural."""
CONJUNCTIONS = ((("et",), "and"), (("mais",), "but"), (("parce", "que"), "because"))
