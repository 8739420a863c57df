package import PeerConnection
package import Wording

extension DataOutput {
    /// Prints a notice: an event with its values, after the link if there is one, and a sentence on stderr at once.
    /// - Parameters:
    ///   - fields: what the session is, for programs.
    ///   - subject: what the session is, for people.
    package func notice(_ notice: Notice, _ fields: [(String, JSONValue)] = [], subject: String = "") {
        let words = notice.words
        eventAfterLink(words.event, fields + words.fields)
        ErrorOutput.writeLine("share: \(subject)\(words.sentence)")
    }
}

extension NoticeWords {
    package var fields: [(String, JSONValue)] {
        values.map { name, value in
            switch value {
            case .text(let text): (name, .string(text))
            case .number(let number): (name, .integer(number))
            case .boolean(let isTrue): (name, .boolean(isTrue))
            }
        }
    }
}
