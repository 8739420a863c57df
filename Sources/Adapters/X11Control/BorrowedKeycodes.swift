internal import MediaCore

/// Which free keycodes have characters that the layout lacks. A value without a connection.
///
/// Programs read the layout some time after they are told that it has changed. So a keycode keeps its character until
/// it has not been used for a while, and the one that was not used for the longest time is changed first.
struct BorrowedKeycodes {
    enum Answer: Equatable {
        case keycode(UInt8)
        /// None can be changed before.
        case wait(until: MediaInstant)
        case none
    }

    /// How long programs may take to look up a key.
    static let settlingTime = MediaDuration.milliseconds(300)
    /// The time between two changes: every program of the display reads the layout anew after each.
    static let interval = MediaDuration.milliseconds(20)
    /// As many at once at the most.
    static let limit = 64

    private struct Loan {
        var keysyms: [Keysym]
        var used: MediaInstant
    }

    private var loans: [UInt8: Loan] = [:]
    private var changed: MediaInstant?

    var isEmpty: Bool { loans.isEmpty }
    var keycodes: [UInt8] { loans.keys.sorted() }
    /// When all can be given back; nil if there are none.
    var settled: MediaInstant? { loans.values.map(\.used).max().map { $0 + Self.settlingTime } }

    /// - Parameters:
    ///   - free: those that the layout does not use.
    ///   - pressed: those that must stay as they are.
    func next(free: [UInt8], pressed: Set<UInt8>, now: MediaInstant) -> Answer {
        if let changed, now < changed + Self.interval { return .wait(until: changed + Self.interval) }
        if loans.count < Self.limit, let keycode = free.first(where: { loans[$0] == nil && !pressed.contains($0) }) {
            return .keycode(keycode)
        }
        guard let oldest = loans.filter({ !pressed.contains($0.key) }).min(by: { $0.value.used < $1.value.used }) else {
            return .none
        }
        let ready = oldest.value.used + Self.settlingTime
        return ready <= now ? .keycode(oldest.key) : .wait(until: ready)
    }

    mutating func borrow(_ keycode: UInt8, for keysyms: [Keysym], now: MediaInstant) {
        loans[keycode] = Loan(keysyms: keysyms, used: now)
        changed = now
    }

    mutating func noteUse(of keycode: UInt8, now: MediaInstant) { loans[keycode]?.used = now }

    /// Forgets those that another program has changed, which are not ours any more.
    mutating func removeLost(in map: KeyboardMap) {
        loans = loans.filter { keycode, loan in loan.keysyms.allSatisfy { map.has($0, at: keycode) } }
    }

    /// Forgets all, which the caller gives back.
    mutating func removeAll() -> [UInt8] {
        defer { loans = [:] }
        return keycodes
    }
}
