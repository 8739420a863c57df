internal import CSDL
internal import Glibc
internal import LinuxRuntime
internal import MediaCore

/// A small window with a question and some buttons.
public enum QuestionWindow {
    /// The largest number of answers beside the one that refuses.
    public static let answerLimit = Int(csdl_answers) - 1

    /// Whether there is a display for a window.
    public static var isPossible: Bool {
        ["DISPLAY", "WAYLAND_DISPLAY"].contains { (name: String) in getenv(name).map { $0.pointee != 0 } ?? false }
    }

    private struct Asking {
        /// The number of this question among all of the process.
        let number: Int
        var isWithdrawn = false
        /// The thread that asks, as a folder of /proc: "1234/task/1240"; nil before the window is opened.
        var thread: String?
    }

    private struct State {
        var count = 0
        /// Nil if nothing is asked.
        var asking: Asking?
    }

    private static let state = Monitor(State())
    /// The longest wait for a withdrawn window: SDL answers when its child process has ended.
    private static let closingTime = MediaDuration.seconds(2)
    /// How often a withdrawn window's process is looked for: SDL may not have started it yet.
    private static let lookInterval = MediaDuration.milliseconds(20)

    /// Asks, and blocks until there is an answer. Escape, and closing the window, refuse. One call at a time.
    /// - Parameter isWanted: called once, on this thread, after ``withdraw()`` has begun to see this question. With false,
    ///   the question is not shown.
    /// - Returns: whether the question was accepted; nil if there is no display, or the question was withdrawn.
    public static func ask(
        title: String, _ question: String, accept: String, refuse: String, isWanted: () -> Bool = { true }
    ) -> Bool? {
        show(title, question, [refuse, accept], isWanted).map { $0 == 1 }
    }

    /// Lets the user choose one of the answers, of which at most ``answerLimit`` are shown.
    /// - Returns: the index of the answer; nil if the user refuses, if there is no display, or if it was withdrawn.
    public static func choose(title: String, _ question: String, among answers: [String], refuse: String) -> Int? {
        show(title, question, [refuse] + answers.prefix(answerLimit)) { true }.flatMap { $0 == 0 ? nil : $0 - 1 }
    }

    private static func show(
        _ title: String, _ question: String, _ answers: [String], _ isWanted: () -> Bool
    ) -> Int? {
        state.with { state in
            state.count += 1
            state.asking = Asking(number: state.count)
        }
        defer { state.change { $0.asking = nil } }
        guard isWanted(), SDLLibrary.open(UInt32(SDL_INIT_VIDEO)) else { return nil }
        defer { SDLLibrary.close(UInt32(SDL_INIT_VIDEO)) }
        let isWithdrawn = state.with { state in
            state.asking?.thread = link("/proc/thread-self")
            return state.asking?.isWithdrawn ?? true
        }
        if isWithdrawn { return nil }
        let texts = answers.map { strdup($0) }
        defer { texts.forEach { free($0) } }
        let answer = csdl_ask(title, question, texts.map { UnsafePointer($0) }, Int32(texts.count))
        return answer < 0 ? nil : Int(answer)
    }

    /// Takes a question back that another thread asks; its window disappears, and `ask` returns nil. Without one this does
    /// nothing. Call it before the process ends, too: the window would stay, and a process must not end while SDL closes its
    /// connection on the other thread. Blocks until that is done, for two seconds at most.
    public static func withdraw() {
        let number = state.with { state in
            state.asking?.isWithdrawn = true
            return state.asking?.number
        }
        guard let number else { return }
        let deadline = MonotonicClock.now + closingTime
        while MonotonicClock.now < deadline {
            let thread = state.with { $0.asking?.number == number ? $0.asking?.thread : nil }
            if let thread { endChildren(of: thread) }
            let isOver = state.wait(until: MonotonicClock.now + lookInterval) { state in
                state.asking?.number == number ? nil : true
            }
            if isOver == true { return }
        }
    }

    /// SDL shows the box in a child process (SDL_x11messagebox.c), which has the signal handlers of this one.
    private static func endChildren(of thread: String) {
        guard let file = fopen("/proc/\(thread)/children", "r") else { return }
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 256)
        guard fgets(&text, Int32(text.count), file) != nil else { return }
        let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        for child in String(decoding: bytes, as: UTF8.self).split(separator: " ") {
            if let id = pid_t(child) { kill(id, SIGKILL) }
        }
    }

    private static func link(_ path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: 256)
        let count = readlink(path, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }
}
