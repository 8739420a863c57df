import Glibc

/// A question in the terminal that one key answers, asked by a thread that has nothing else to do.
package struct KeyQuestion: Sendable {
    /// The question before the keys: "Accept?"
    private let invitation: String
    private let keys: [(key: UInt8, name: String)]
    /// Whether the answer is still wanted.
    private let isWanted: @Sendable () -> Bool

    /// How often `isWanted` is asked.
    private static let interval: Int32 = 200

    /// - Parameter keys: a lower-case letter for each answer, and its name without that letter: ("y", "es").
    package init(
        _ invitation: String, keys: [(Character, String)], isWanted: @escaping @Sendable () -> Bool = { true }
    ) {
        self.invitation = invitation
        self.keys = keys.compactMap { key, name in key.asciiValue.map { ($0, name) } }
        self.isWanted = isWanted
    }

    /// Blocks until one of the keys is pressed. Keys that were pressed before do not count, and another key says which
    /// ones do. In the background it waits for the foreground.
    /// - Returns: the letter; nil at Ctrl-D, if the terminal is gone, or if no answer is wanted any more.
    package func ask() -> Character? {
        guard TerminalMode.isPossible else { return nil }
        TerminalMode.ignoreStops()
        TerminalMode.enter()
        defer { TerminalMode.restore() }
        ErrorOutput.ask([line(isAskedAgain: false)])
        var bytes = [UInt8](repeating: 0, count: 64)
        while isWanted() {
            guard TerminalMode.isForeground else {
                TerminalMode.forget()
                usleep(useconds_t(Self.interval) * 1_000)
                continue
            }
            if !TerminalMode.isEntered, TerminalMode.enter() { ErrorOutput.showAgain() }
            var watched = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            guard poll(&watched, 1, Self.interval) > 0, TerminalMode.isForeground else { continue }
            let count = read(STDIN_FILENO, &bytes, bytes.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0, bytes[0] != Self.endOfInput else { break }
            let key = bytes[0] | 0x20
            // A line is an answer, too, if its first letter is.
            if let found = keys.first(where: { $0.key == key }), isLetter(bytes[0]), count == 1 || isLine(bytes, count)
            {
                let letter = Character(UnicodeScalar(found.key))
                ErrorOutput.answered(String(letter))
                return letter
            }
            // The end of a line that an earlier answer began.
            if count == 1, bytes[0] == 0x0A || bytes[0] == 0x0D { continue }
            ErrorOutput.ask([line(isAskedAgain: true)])
        }
        ErrorOutput.answered("")
        return nil
    }

    private static let endOfInput: UInt8 = 4

    private func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) }

    private func isLine(_ bytes: [UInt8], _ count: Int) -> Bool {
        bytes[..<count].last.map { $0 == 0x0A || $0 == 0x0D } == true && bytes[..<(count - 1)].allSatisfy(isLetter)
    }

    private func line(isAskedAgain: Bool) -> String {
        let letters = keys.map { String(UnicodeScalar($0.key)) }
        let wanted =
            letters.dropLast().joined(separator: ", ") + (letters.count > 1 ? " or " : "") + (letters.last ?? "")
        let choices = zip(letters, keys).map { "[\($0)]\($1.name)" }.joined(separator: ", ")
        return "  " + (isAskedAgain ? "Press \(wanted). " : "") + "\(invitation) \(choices): "
    }
}
