internal import CSDL
internal import Glibc
internal import Synchronization

/// A small window with a question and some buttons.
public enum QuestionWindow {
    /// The largest number of answers beside the one that refuses.
    public static let answerLimit = Int(csdl_answers) - 1

    /// Whether there is a display for a window.
    public static var isPossible: Bool {
        ["DISPLAY", "WAYLAND_DISPLAY"].contains { (name: String) in getenv(name).map { $0.pointee != 0 } ?? false }
    }

    private struct Asking {
        var isWithdrawn = false
        /// The thread that asks, as a folder of /proc: "1234/task/1240"; nil before the window is opened.
        var thread: String?
    }

    /// Nil if nothing is asked.
    private static let asking = Mutex<Asking?>(nil)

    /// Asks, and blocks until there is an answer. Escape, and closing the window, refuse. One call at a time.
    /// - Returns: whether the question was accepted; nil if there is no display, or the question was withdrawn.
    public static func ask(title: String, _ question: String, accept: String, refuse: String) -> Bool? {
        show(title, question, [refuse, accept]).map { $0 == 1 }
    }

    /// Lets the user choose one of the answers, of which at most ``answerLimit`` are shown.
    /// - Returns: the index of the answer; nil if the user refuses, or if there is no display.
    public static func choose(title: String, _ question: String, among answers: [String], refuse: String) -> Int? {
        show(title, question, [refuse] + answers.prefix(answerLimit)).flatMap { $0 == 0 ? nil : $0 - 1 }
    }

    private static func show(_ title: String, _ question: String, _ answers: [String]) -> Int? {
        asking.withLock { $0 = Asking() }
        defer { asking.withLock { $0 = nil } }
        guard SDLLibrary.open(UInt32(SDL_INIT_VIDEO)) else { return nil }
        defer { SDLLibrary.close(UInt32(SDL_INIT_VIDEO)) }
        let isWithdrawn = asking.withLock { asking in
            asking?.thread = link("/proc/thread-self")
            return asking?.isWithdrawn ?? true
        }
        if isWithdrawn { return nil }
        let texts = answers.map { strdup($0) }
        defer { texts.forEach { free($0) } }
        let answer = csdl_ask(title, question, texts.map { UnsafePointer($0) }, Int32(texts.count))
        return answer < 0 ? nil : Int(answer)
    }

    /// Takes a question back that another thread asks; its window disappears, and `ask` returns nil. Without one this does
    /// nothing. Call it before the process ends, too: the window would stay.
    public static func withdraw() {
        // SDL shows the box in a child process (SDL_x11messagebox.c), which has the signal handlers of this one.
        asking.withLock { asking in
            asking?.isWithdrawn = true
            guard let thread = asking?.thread, let file = fopen("/proc/\(thread)/children", "r") else { return }
            defer { fclose(file) }
            var text = [CChar](repeating: 0, count: 256)
            guard fgets(&text, Int32(text.count), file) != nil else { return }
            let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            for child in String(decoding: bytes, as: UTF8.self).split(separator: " ") {
                if let id = pid_t(child) { kill(id, SIGKILL) }
            }
        }
    }

    private static func link(_ path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: 256)
        let count = readlink(path, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }
}
