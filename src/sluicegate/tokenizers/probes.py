"""The texts on which a fast encoder must equal the reference before it is used."""

from __future__ import annotations

import random
from collections.abc import Iterable

SENTENCES = (
    "The quick brown fox jumps over the lazy dog.",
    "I'll we've THEY'RE it's O'Brien can't don't I'M you'd S 'ſ",
    "snake_case camelCase PascalCase SCREAMING_CASE kebab-case dotted.name a/b/c \\path\\to http://x.y/z?q=1&r=2#t",
    'def f(x: int) -> str:\n    """Doc."""\n\treturn f"{x!r:>{10}}"  # comment\n\n\nclass A:\n    pass\n',
    "for (int i = 0; i < n; ++i) { a[i] = b[i] * 2; }\r\n\r\n// done\r\n",
    '{"name": "get_weather", "arguments": {"city": "Zürich", "days": 3, "units": null}}',
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n- [ ] item\n  * nested\n\n```python\nprint(1)\n```\n",
    "1 12 123 1234 12345 1234567890 3.14159 1e-10 0xFF 1,000,000 ٣٤٥ १२३ ⅷ ½ ²",
    "El niño comió piñas; él habló: «¿qué?» — ¡sí!",
    "Příliš žluťoučký kůň úpěl ďábelské ódy. Zażółć gęślą jaźń. İstanbul ıssız",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.",
    "以呂波耳本部止 千利奴流乎和加 餘多連曽津祢那良牟 有為能於久耶万 計不已衣天阿佐伎 喩女美之恵比毛勢須",
    "敏捷的棕色狐狸跳过了懒狗。价格：￥1,234.56（含税）",
    "いろはにほへと ちりぬるを カタカナ ヴァイオリン 半角ｶﾅ",
    "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다.",
    "صِف خَلقَ خَودِ كَمِثلِ الشَمسِ إِذ بَزَغَت",
    "דג סקרן שט בים מאוכזב ולפתע מצא לו חברה",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश",
    "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า",
    "Đại bàng bay vút; Tiếng Việt có dấu: ắ ằ ẳ ẵ ặ",
    "ᚠᛇᚻ᛫ᛒᛦᚦ ᏣᎳᎩ ᓄᓇᕗᑦ ქართული հայերեն አማርኛ བོད་སྐད ខ្មែរ မြန်မာ தமிழ் తెలుగు ಕನ್ನಡ മലയാളം සිංහල বাংলা ગુજરાતી ਪੰਜਾਬੀ",
    "é e\u0301 ñ n\u0303 Å A\u030a ﬁ ﬀ ㎏ ｆｕｌｌｗｉｄｔｈ ①②③ ™ © …",
    "👨‍👩‍👧‍👦 🇨🇭 👍🏽 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 ☃ ♥ ✈️ 🤷🏿‍♀️",
    "𝒜𝓁𝓅𝒽𝒶 𝟘𝟙𝟚 𐍈 𠀋 𪚥 𒀀 𓀀",
    "zero\u200bwidth non\u200dbreaking\u00a0space\u2003em\u3000ideographic\u2028line\u2029paragraph\ufeffbom",
    "control \x00\x01\x07\x08\x0b\x0c\x1b\x1c\x1f\x7f\x85 characters",
    "U+FFFD \ufffd U+FFFE \ufffe private \ue000 \U000f0000 \U0010ffff",
    "aGVsbG8gd29ybGQ= 9f86d081884c7d659a2feaa0c55ad015 550e8400-e29b-41d4-a716-446655440000",
    "sch\u00f6n Stra\u00dfe GRO\u1e9eE \u0130 \u0131 \u01c5 \u01c6 \u1fb3 \u03a3\u03c3\u03c2",
)
"""Sentences (many are well-known pangrams) that cover the scripts, letter cases, digits, code and odd characters."""

EDGES = (
    "フ\u3098っ\u3040",
    "・<S゛<S゠<S",
    "ジョン・スミス（コンピューター・サービス）",
    "  1  中 \u3099",
    "a\u0378\u0378b ((a 1a",
    "'S'ſ'll'LL",
)
"""Where one pattern takes over from another."""

WHITE_SPACE = (" ", "\n", "\t", "\r", "\r\n", "\u00a0", "\u3000", "\x0b", "\u2028")


def probe_texts(added_tokens: Iterable[str], seed: int = 0) -> list[str]:
    """Return about 2,000 texts, and for every added token one alone and one inside a text; the same for the same input.

    They hold: the sentences, whole, cut and joined; all pairs of ASCII characters; runs of white space in all lengths;
    random mixtures of all of it with the added tokens and with cut spellings of them.
    """
    pick = random.Random(seed)  # noqa: S311 - not for secrets
    tokens = list(added_tokens)
    texts = ["", *EDGES, *SENTENCES, *(sentence.upper() for sentence in SENTENCES)]
    texts += ["".join(f"{chr(first)}{chr(second)}\n" for second in range(128)) for first in range(128)]
    texts += ["".join(f"{chr(first)}{chr(second)} " for second in range(32, 127)) for first in range(128)]
    texts += [f"{before}{blank * length}{after}" for blank in WHITE_SPACE for length in (1, 2, 3, 4, 5, 8, 17, 64, 257)
              for before, after in (("", ""), ("a", "b"), (".", "("))]  # fmt: skip
    for token in tokens:
        texts += [token, f"a{token} {token}\nb{token[:-1]}"]
    parts = [*(word for sentence in SENTENCES for word in sentence.split(" ")), *WHITE_SPACE, *tokens[:64]]
    parts += [token[:-1] for token in tokens[:16]]
    for _ in range(900):
        texts.append(
            "".join(pick.choice(parts) + pick.choice(("", " ", "\n", "  ")) for _ in range(pick.randint(1, 12)))
        )
    for _ in range(300):
        sentence = pick.choice(SENTENCES)
        start = pick.randrange(len(sentence))
        texts.append(sentence[start : start + pick.randint(1, 20)])
    for _ in range(200):
        texts.append("".join(chr(pick.choice(_SCRIPTS) + pick.randrange(96)) for _ in range(pick.randint(1, 12))))
    return texts


_SCRIPTS = (
    0x20, 0x60, 0xA0, 0x100, 0x180, 0x250, 0x300, 0x370, 0x400, 0x460, 0x531, 0x591, 0x610, 0x660, 0x700, 0x904, 0x985,
    0xA05, 0xA85, 0xB05, 0xB85, 0xC05, 0xC85, 0xD05, 0xE01, 0xE81, 0xF00, 0x1000, 0x10A0, 0x1100, 0x1200, 0x13A0,
    0x1400, 0x16A0, 0x1780, 0x1E00, 0x1F00, 0x2000, 0x2070, 0x2100, 0x2190, 0x2200, 0x2460, 0x2500, 0x2600, 0x2700,
    0x3000, 0x3041, 0x30A1, 0x3131, 0x4E00, 0x5200, 0x9000, 0xAC00, 0xF900, 0xFB50, 0xFE30, 0xFF01, 0x10300,
    0x1D400, 0x1F300, 0x1F600, 0x20000,
)  # fmt: skip
"""First code points of blocks from which a sample of 96 is taken."""
