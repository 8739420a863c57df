/// Who may have an offered file: browsers that its owner has accepted, until it was given out as often as it may be. A
/// value, without I/O.
struct OfferedFileAccess: Sendable {
    enum State: Sendable, Equatable {
        /// Nobody was asked yet.
        case new
        case asking
        case accepted
        case refused
    }

    /// At most so many browsers are known, and so many of one address.
    static let (limit, addressLimit) = (32, 4)

    private struct Visit {
        var address: String
        var state = State.new
    }

    /// The folder of the address, which is its secret.
    let path: String
    private let isOnce: Bool
    private var visits: [String: Visit] = [:]
    /// Who gets the file now.
    private var downloads: Set<String> = []
    private(set) var isOver = false

    /// - Parameters:
    ///   - path: with a secret, and a slash at both ends.
    ///   - isOnce: the offer is over when one browser has got the file.
    init(path: String, isOnce: Bool) {
        (self.path, self.isOnce) = (path, isOnce)
    }

    /// A new browser.
    /// - Returns: false if there are too many.
    mutating func add(_ cookie: String, address: String) -> Bool {
        guard !isOver, visits.count < Self.limit,
            visits.values.count(where: { $0.address == address }) < Self.addressLimit
        else { return false }
        visits[cookie] = Visit(address: address)
        return true
    }

    func state(of cookie: String) -> State? { visits[cookie]?.state }

    /// - Returns: whether the owner has to be asked now.
    mutating func ask(_ cookie: String) -> Bool {
        guard visits[cookie]?.state == .new else { return false }
        visits[cookie]?.state = .asking
        return true
    }

    mutating func answer(_ cookie: String, _ isAccepted: Bool) {
        visits[cookie]?.state = isAccepted ? .accepted : .refused
    }

    /// - Returns: whether the browser gets the file now. With `isOnce`, one does at a time.
    mutating func begin(_ cookie: String) -> Bool {
        guard !isOver, visits[cookie]?.state == .accepted, !downloads.contains(cookie), !isOnce || downloads.isEmpty
        else { return false }
        downloads.insert(cookie)
        return true
    }

    /// - Parameter isComplete: the browser has got all of it.
    mutating func end(_ cookie: String, isComplete: Bool) {
        downloads.remove(cookie)
        if isComplete, isOnce { isOver = true }
    }

    mutating func close() { isOver = true }
}
