import MediaCore
import Testing

struct TextFormTests {
    @Test(arguments: [("", ""), (" \t\r\n", ""), ("a b", "a b"), ("\n a b\r\n", "a b"), ("\u{A0}é ", "é")])
    func whitespaceIsTakenOffBothEnds(_ text: String, _ expected: String) {
        #expect(text.trimmed == expected)
    }

    @Test func textsFillColumns() {
        #expect("ab".padded(to: 4) == "ab  " && "abcde".padded(to: 4) == "abcde")
        #expect("7".padded(to: 2, before: "0") == "07" && "123".padded(to: 2, before: "0") == "123")
    }

    @Test(arguments: [
        ("alice", "alice"), ("a%3Ab%25", "a:b%"), ("%c3%A9", "é"), ("%", nil), ("%4", nil), ("%4g", nil), ("%ff", nil),
        ("%é", nil),
    ])
    func percentsNameBytes(_ text: String, _ expected: String?) {
        #expect(text.percentDecoded == expected)
    }

    @Test(arguments: [
        ("/a/b.c/d.tar.webm", "d.tar.webm", "webm", "/a/b.c/d.tar"), ("/a/b.c/d", "d", "", "/a/b.c/d"),
        (".hidden", ".hidden", "", ".hidden"), ("/", "", "", "/"), ("", "", "", ""), ("a.", "a.", "", "a."),
    ])
    func aPathHasANameAndAnExtension(_ path: String, _ name: String, _ ending: String, _ rest: String) {
        #expect(path.fileName == name)
        #expect(path.fileExtension == ending)
        #expect(path.withoutFileExtension == rest)
    }

    @Test func numbersHaveAsManyDecimalsAsAreWanted() {
        #expect(1.06.text(decimals: 1) == "1.1" && 0.05.text(decimals: 3) == "0.050" && 2.5.text(decimals: 0) == "3")
        #expect((-0.25).text(decimals: 2) == "-0.25" && (-0.001).text(decimals: 1) == "0.0")
        #expect(Double.infinity.text(decimals: 1) == "inf" && Double.nan.text(decimals: 1) == "nan")
        #expect(1e300.text(decimals: 1) == "1e+300")
    }
}
