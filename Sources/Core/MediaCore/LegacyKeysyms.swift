/// The characters of keysyms from the time before Unicode, which keyboard layouts still use.
enum LegacyKeysyms {
    /// - Returns: nil if the keysym is of none of these sets.
    static func scalar(of keysym: UInt32) -> UInt32? {
        switch keysym {
        case 0x100..<0x2000: byKeysym[keysym] ?? byDistance(keysym)
        case 0x20AC: keysym
        default: nil
        }
    }

    /// - Returns: nil if none of these sets has the character, or Latin-1 has it.
    static func keysym(of scalar: UInt32) -> UInt32? { scalar < 0x100 ? nil : byScalar[scalar] }

    private static let byScalar: [UInt32: UInt32] = {
        let keysyms = Array<UInt32>(0x100..<0x2000) + [0x20AC]
        let pairs = keysyms.compactMap { keysym in scalar(of: keysym).map { ($0, keysym) } }
        return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }()

    /// Arabic, Hebrew, Thai and Korean, in the order of Unicode.
    private static func byDistance(_ keysym: UInt32) -> UInt32? {
        switch keysym {
        case 0x5AC, 0x5BB, 0x5BF, 0x5C1...0x5DA, 0x5E0...0x5F2: keysym + 0x60
        case 0xCE0...0xCFA: keysym - 0xCE0 + 0x5D0
        case 0xDA1...0xDDA, 0xDDF...0xDED, 0xDF0...0xDF9: keysym - 0xDA1 + 0xE01
        case 0xEA1...0xED3: keysym - 0xEA1 + 0x3131
        default: nil
        }
    }

    private static let byKeysym: [UInt32: UInt32] = {
        var found: [UInt32: UInt32] = [:]
        for (first, text) in rows {
            for (index, scalar) in text.unicodeScalars.enumerated() where scalar != filler {
                found[first + UInt32(index)] = scalar.value
            }
        }
        return found
    }()

    /// Stands where a row has no character; none of these sets has it.
    private static let filler: Unicode.Scalar = "·"

    /// The first keysym of a row, and the characters from there on.
    private static let rows: [(UInt32, String)] = [
        (0x1A1, "Ą˘Ł·ĽŚ··ŠŞŤŹ·ŽŻ·ą˛ł·ľśˇ·šşťź˝žżŔ··Ă·ĹĆ·Č·Ę·Ě··ĎĐŃŇ··Ő··ŘŮ·Ű··Ţ·ŕ··ă·ĺć·č·ę·ě··ďđ"),
        (0x1F1, "ńň··ő··řů·ű··ţ˙"),
        (0x2A1, "Ħ····Ĥ··İ"),
        (0x2AB, "ĞĴ····ħ····ĥ··ı·ğĵ"),
        (0x2C5, "ĊĈ"),
        (0x2D5, "Ġ··Ĝ····ŬŜ"),
        (0x2E5, "ċĉ"),
        (0x2F5, "ġ··ĝ····ŭŝ"),
        (0x3A2, "ĸŖ·ĨĻ···ĒĢŦ······ŗ·ĩļ···ēģŧŊ·ŋĀ······Į····Ė··Ī"),
        (0x3D1, "ŅŌĶ"),
        (0x3D9, "Ų···ŨŪ"),
        (0x3E7, "į····ė··ī·ņōķ"),
        (0x3F9, "ų···ũū"),
        (0x4A1, "。「」、・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン゛゜"),
        (0x6A1, "ђѓёєѕіїјљњћќґўџ№ЂЃЁЄЅІЇЈЉЊЋЌҐЎЏюабцдефгхийклмнопярстужвьызшэщчъЮАБЦДЕФГХИЙКЛМНОП"),
        (0x6F1, "ЯРСТУЖВЬЫЗШЭЩЧЪ"),
        (0x7A1, "ΆΈΉΊΪ·ΌΎΫ·Ώ··΅―·άέήίϊΐόύϋΰώ"),
        (0x7C1, "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣ·ΤΥΦΧΨΩ"),
        (0x7E1, "αβγδεζηθικλμνξοπρσςτυφχψω"),
        (0x8BC, "≤≠≥∫∴∝∞··∇··∼≃···⇔⇒≡"),
        (0x8DA, "⊂⊃∩∪∧"),
        (0x8FB, "←↑→↓"),
        (0xAA9, "—–·␣·…‥⅓⅔⅕⅖⅗⅘⅙⅚℅"),
        (0xAC3, "⅛⅜⅝⅞··™"),
        (0xAD0, "‘’“”℞‰′″"),
        (0xAFD, "‚„"),
        (0xCDF, "‗"),
        (0x13BC, "ŒœŸ"),
    ]
}
