import Foundation
import Testing

@testable import Admission

@Suite struct ServiceDescriptionTests {
    private func decode(_ json: String) throws -> ServiceDescription {
        try JSONDecoder().decode(ServiceDescription.self, from: Data(json.utf8))
    }

    private func json(name: String = "X", fields: String = "[]", terms: String = "null") -> String {
        #"{"id":"com.example.x","name":"\#(name)","fields":\#(fields),"terms":\#(terms)}"#
    }

    private func fields(_ count: Int) -> String {
        "[" + (0..<count).map { #"{"name":"f\#($0)","label":"F"}"# }.joined(separator: ",") + "]"
    }

    @Test func documentsAreReadBack() throws {
        let fields = [
            try SetupField(name: "title", label: "Title"), try SetupField(name: "sign-in_2", label: "Your account"),
        ]
        let description = try describe(fields, terms: "First line.\n\nSecond \"line\".")
        let data = try JSONEncoder().encode(description)
        #expect(try JSONDecoder().decode(ServiceDescription.self, from: data) == description)
        #expect(try decode(#"{"id":"com.example.x","name":"X"}"#).fields.isEmpty)
    }

    @Test func limitsHoldWhenDocumentsAreRead() throws {
        func accepts(_ json: String) -> Bool { (try? decode(json)) != nil }
        #expect(accepts(json(name: String(repeating: "n", count: 64))))
        #expect(!accepts(json(name: String(repeating: "n", count: 65))))
        #expect(accepts(json(fields: fields(16))) && !accepts(json(fields: fields(17))))
        let line = String(repeating: "abc ", count: 4_096)
        #expect(accepts(json(terms: "\"\(line)\"")) && !accepts(json(terms: "\"\(line)a\"")))
        #expect(!accepts(json(terms: "\"\(String(repeating: "a", count: 513))\"")), "nobody can read that word")
        for name in ["", "Title", "a b", "ä", String(repeating: "a", count: 33)] {
            #expect(!accepts(json(fields: #"[{"name":"\#(name)","label":"F"}]"#)), "\(name)")
        }
        #expect(!accepts(json(fields: #"[{"name":"a","label":"\#(String(repeating: "l", count: 65))"}]"#)))
        #expect(!accepts(json(fields: #"[{"name":"a","label":"A"},{"name":"a","label":"B"}]"#)), "a name twice")
        #expect(!accepts(#"{"id":"../x","name":"X"}"#) && !accepts(#"{"name":"X"}"#) && !accepts("[]"))
    }

    @Test func hostileTextIsCleaned() throws {
        let found = try decode(
            json(
                name: #"A\u001b[31m\u202e  B"#, fields: #"[{"name":"a","label":"\u0007\u200b"}]"#,
                terms: #""One\u001b]0;x\u0007\r\n\n\n\n  Two\tthree\u2028four\u202e\n\n""#))
        #expect(found.name == "A[31m B" && found.fields.first?.label == "a")
        #expect(found.terms == "One]0;x\n\nTwo three\nfour")
        #expect(try decode(json(name: #"\u0000"#, terms: #"" \n ""#)).name == "com.example.x")
        #expect(try decode(json(terms: #"" \n ""#)).terms == nil)
    }

    @Test func setupHasAValueForEachField() throws {
        let (title, account) = (
            try SetupField(name: "title", label: "Title"), try SetupField(name: "account", label: "Account")
        )
        let description = try describe([title, account])
        #expect(
            try description.setup(["title": " All\u{7} hands\n", "account": "ann"])
                == ["title": "All hands", "account": "ann"])
        #expect(throws: SetupError.missing(account)) { try description.setup(["title": "x"]) }
        #expect(throws: SetupError.missing(title)) { try description.setup(["title": "\u{200B} ", "account": "a"]) }
        #expect(throws: SetupError.tooLong(title)) {
            try description.setup(["title": String(repeating: "x", count: 513), "account": "a"])
        }
        #expect(throws: SetupError.unknownField) {
            try description.setup(["title": "x", "account": "a", "other": "y"])
        }
        #expect(throws: SetupError.unknownField) { try description.setup(["title": "x", "other": "y"]) }
        #expect(try describe().setup([:]).isEmpty)
    }
}

@Suite struct ApplicationInfoTests {
    private func decode(_ id: String, _ name: String) -> ApplicationInfo? {
        try? JSONDecoder().decode(ApplicationInfo.self, from: JSONEncoder().encode(["id": id, "name": name]))
    }

    @Test func anIconIsPassedOnAndANonsenseOneIsRefused() throws {
        let head: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
        let size: [UInt8] = [0, 0, 0, 32, 0, 0, 0, 16, 8, 6, 0, 0, 0, 0, 0, 0, 0]
        let info = ApplicationInfo(id: "a", name: "A", icon: try PNGIcon(head + size))
        #expect(try JSONDecoder().decode(ApplicationInfo.self, from: JSONEncoder().encode(info)) == info)
        for bytes in [[], head, head + [0, 0, 16, 0] + size.dropFirst(4)] {
            let fields = ["id": "a", "name": "A", "iconData": Data(bytes).base64EncodedString()]
            #expect(throws: (any Error).self) {
                try JSONDecoder().decode(ApplicationInfo.self, from: JSONEncoder().encode(fields))
            }
        }
    }

    @Test func ownNamesAreCleaned() {
        let info = ApplicationInfo(id: "a\u{202E}b" + String(repeating: "c", count: 200), name: "\u{1B}")
        #expect(info.id.unicodeScalars.count == 128 && info.name == String(info.id.prefix(64)))
        #expect(ApplicationInfo(id: "", name: "").id == "unknown")
    }

    @Test func whatIsWrittenIsRead() {
        for (id, name) in [("com.example.budget", "Budget"), ("", ""), ("x", "e\u{301} 日本 "), ("é\r\n", "\u{2800}a b")]
        {
            let info = ApplicationInfo(id: id, name: name)
            #expect(decode(info.id, info.name) == info, "\(name)")
        }
    }

    /// Both sides sign the bytes that they see.
    @Test func whatCleaningWouldChangeIsRefused() {
        for text in ["", " ", "a ", "a  b", "a\u{202E}", "a\nb", "a\u{200B}", "\u{1B}[2J", "a\u{A0}b"] {
            #expect(decode("a", text) == nil && decode(text, "a") == nil, "\(text)")
        }
        #expect(decode(String(repeating: "a", count: 128), "a") != nil)
        #expect(decode(String(repeating: "a", count: 129), "a") == nil)
        #expect(decode("a", String(repeating: "a", count: 64)) != nil)
        #expect(decode("a", String(repeating: "a", count: 65)) == nil)
    }
}
