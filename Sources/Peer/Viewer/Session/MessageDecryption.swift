import FrameEncryption
import LinuxRuntime
import MediaCore
import SFrame

/// When the keys of former epochs are to be forgotten. A value without a clock.
struct EpochExpiry {
    /// The newest epoch of which a frame was opened; nil before the first frame.
    private var epoch: UInt32?
    /// The newest epoch that the host has announced; nil before the first frame.
    private var announced: UInt32?
    /// When the epochs before these numbers are over.
    private var ends: [(epoch: UInt32, at: MediaInstant)] = []

    /// Frames of the former epoch may come for so long. Later, nobody who has its keys alone can make one.
    private static let formerEpochTime = MediaDuration.seconds(2)
    /// The same from its announcement on, half a second after which it begins.
    private static let announcedEpochTime = MediaDuration.seconds(4)

    mutating func beginSession() { (epoch, ends) = (nil, []) }

    /// - Returns: the epoch before which all are over; nil: none is that was not before.
    mutating func over(_ opener: BroadcastOpener, now: MediaInstant) -> UInt32? {
        if opener.openedEpoch != epoch {
            epoch = opener.openedEpoch
            ends.append((opener.openedEpoch, now + Self.formerEpochTime))
        }
        // A relay that holds its frames back, too, does not make the former one last.
        if opener.announcedEpoch != announced {
            announced = opener.announcedEpoch
            ends.append((opener.announcedEpoch, now + Self.announcedEpochTime))
        }
        guard let over = ends.lazy.filter({ $0.at <= now }).map(\.epoch).max() else { return nil }
        ends.removeAll { $0.at <= now }
        return over
    }
}

/// Decrypts what a host tells all its viewers at relays. Each event is opened once in a session, over all relays.
struct MessageDecryption: Sendable {
    private let keys: BroadcastKeys
    private var opener: BroadcastOpener
    /// The number of the keys that it has (`BroadcastKeys`).
    private var seen: Int
    private var expiry = EpochExpiry()

    init(_ keys: BroadcastKeys) {
        self.keys = keys
        (opener, seen) = keys.fresh
    }

    func has(_ other: BroadcastKeys) -> Bool { keys === other }

    mutating func open(_ frame: [UInt8], now: MediaInstant) -> Result<[UInt8], BroadcastOpener.Failure> {
        _ = keys.update(&opener, seen: &seen)
        if let over = expiry.over(opener, now: now) { opener.forgetEpochs(before: over) }
        return frame.withUnsafeBytes { opener.open($0, .messages) }
    }
}
