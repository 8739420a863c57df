internal import CSDL
internal import Glibc

/// A small window with a question and some buttons.
public enum QuestionWindow {
    /// The largest number of answers beside the one that refuses.
    public static let answerLimit = Int(csdl_answers) - 1

    /// Whether there is a display for a window.
    public static var isPossible: Bool {
        ["DISPLAY", "WAYLAND_DISPLAY"].contains { (name: String) in getenv(name).map { $0.pointee != 0 } ?? false }
    }

    /// Asks, and blocks until there is an answer. Escape, and closing the window, refuse. One call at a time.
    /// - Returns: whether the question was accepted; nil if there is no display.
    public static func ask(title: String, _ question: String, accept: String, refuse: String) -> Bool? {
        show(title, question, [refuse, accept]).map { $0 == 1 }
    }

    /// Lets the user choose one of the answers, of which at most ``answerLimit`` are shown.
    /// - Returns: the index of the answer; nil if the user refuses, or if there is no display.
    public static func choose(title: String, _ question: String, among answers: [String], refuse: String) -> Int? {
        show(title, question, [refuse] + answers.prefix(answerLimit)).flatMap { $0 == 0 ? nil : $0 - 1 }
    }

    private static func show(_ title: String, _ question: String, _ answers: [String]) -> Int? {
        guard SDLLibrary.open(UInt32(SDL_INIT_VIDEO)) else { return nil }
        defer { SDLLibrary.close(UInt32(SDL_INIT_VIDEO)) }
        let texts = answers.map { strdup($0) }
        defer { texts.forEach { free($0) } }
        let answer = csdl_ask(title, question, texts.map { UnsafePointer($0) }, Int32(texts.count))
        return answer < 0 ? nil : Int(answer)
    }
}
