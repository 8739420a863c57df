import MediaCore
import Testing

@Suite struct WindowPatternTests {
    @Test(arguments: [
        ("keepass", "KeePassXC", true), ("keepass", "Firefox", false), ("*pass", "KeePassXC", false),
        ("*pass*", "KeePassXC", true), ("mail ?", "Mail 3", true), ("mail ?", "Mail 33", false),
        ("a*b*c", "aXXbYYc", true), ("a*b*c", "aXXbYY", false), ("*a*", "", false), ("?", "", false),
        ("*ab", "aab", true), ("\u{00C4}pfel", "\u{00E4}pfel und Birnen", true),
    ])
    func patternMatchesTitles(pattern: String, title: String, isMatch: Bool) throws {
        #expect(try #require(WindowPattern(pattern)).matches(title) == isMatch)
    }

    @Test(arguments: ["", "*", "**", " ", "* *"]) func patternOfNothingIsNone(text: String) {
        #expect(WindowPattern(text) == nil)
    }
}
