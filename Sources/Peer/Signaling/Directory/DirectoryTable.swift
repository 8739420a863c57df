import Admission
import Synchronization

/// The directory of a server. Safe from any thread.
public final class DirectoryTable: Sendable {
    /// The label of this relay in its entries.
    public let region: String?
    private let directory: Mutex<BroadcastDirectory>

    init(_ settings: DirectorySettings) {
        region = settings.region
        directory = Mutex(BroadcastDirectory(capacity: settings.capacity))
    }

    /// Reads or changes the directory.
    public func with<Value: Sendable>(_ body: (inout sending BroadcastDirectory) -> Value) -> Value {
        directory.withLock { body(&$0) }
    }

    func find(_ query: BroadcastDirectory.Query) -> (entries: [DirectoryEntry], total: Int) {
        // The copy is sorted without the lock.
        directory.withLock { $0 }.find(query)
    }
}

/// How a server lists broadcasts.
public struct DirectorySettings: Sendable {
    /// A label of its entries.
    public var region: String?
    public var capacity = 16_384

    public init(region: String? = nil) { self.region = region }
}
