import MediaCore
import Testing

@Suite struct UntrustedTextTests {
    @Test func namesAreFitForATerminal() {
        func clean(_ text: String) -> String { UntrustedText.clean(text, fallback: "somebody") }
        #expect(clean("  Ann \t Lee\n") == "Ann Lee")
        #expect(clean("\u{1B}[31mred\u{7}\u{9B}") == "[31mred")
        #expect(clean("abc\u{202E}def\u{2066}\u{200B}\u{FEFF}") == "abcdef")
        #expect(clean("\u{E000}\u{2028}") == "somebody")
        #expect(clean("") == "somebody")
        #expect(clean("Åsa 李雷 🦊") == "Åsa 李雷 🦊")
        #expect(clean(String(repeating: "x", count: 100_000)).unicodeScalars.count == 64)
        #expect(clean("z" + String(repeating: "\u{301}", count: 500)).unicodeScalars.count == 3)
    }

    @Test(arguments: [
        "\u{3164}", "\u{115F}\u{1160}", "\u{FFA0}", "\u{2800}\u{2800}", "\u{1D159}", "\u{13441}", "\u{16FE4}",
        "\u{034F}\u{FE0F}", "\u{E0041}\u{180B}", "\u{20DD}", "\u{FFFE}", " \u{301} ",
    ])
    func nameThatLooksBlankIsNone(_ name: String) {
        #expect(UntrustedText.clean(name, fallback: "somebody") == "somebody")
    }

    @Test func blanksWithinANameAreOneSpaceOrNothing() {
        func clean(_ text: String) -> String { UntrustedText.clean(text, fallback: "somebody") }
        #expect(clean("A\u{2800}\u{2800}B") == "A B")
        #expect(clean("A\u{3164}B\u{115F}") == "AB")
        #expect(clean("A \u{301}B") == "A B")
        #expect(clean("e\u{301}") == "e\u{301}")
    }

    @Test func quotedNameCannotLeaveItsQuotes() {
        #expect(UntrustedText.quote("Ann") == #""Ann""#)
        let imitation = UntrustedText.quote(#"Ann" (share, 10.0.0.1) wants to watch. "Bob"#)
        #expect(imitation == #""Ann\" (share, 10.0.0.1) wants to watch. \"Bob""#)
        #expect(UntrustedText.quote("\u{201D}\u{FF02}\u{2033}") == #""\"\"\"""#)
        #expect(UntrustedText.quote(#"\"#) == #""\\""#)
    }
}
