import Admission
import HTTP
import HTTPTypes
import Synchronization

/// The directory of a server. Safe from any thread.
public final class DirectoryTable: Sendable {
    /// The response to a query, as long as the directory does not change.
    private struct Answer {
        var version: Int
        var response: RouteResponse
    }

    /// The label of this relay in its entries.
    public let region: String?
    private let directory: Mutex<BroadcastDirectory>
    /// To the query for everything, which the page makes again and again.
    private let answer = Mutex<Answer?>(nil)

    package init(_ settings: DirectorySettings) {
        region = settings.region
        directory = Mutex(BroadcastDirectory(capacity: settings.capacity))
    }

    /// Reads or changes the directory.
    public func with<Value: Sendable>(_ body: (inout sending BroadcastDirectory) -> Value) -> Value {
        directory.withLock { body(&$0) }
    }

    /// The JSON of what is found. It is made once for all who ask for everything.
    func response(to query: BroadcastDirectory.Query) -> RouteResponse {
        // The copy is sorted without the lock.
        let copy = directory.withLock { $0 }
        let isForAll = query.application == nil && query.region == nil
        if isForAll, let answer = answer.withLock({ $0 }), answer.version == copy.version { return answer.response }
        let (entries, total) = copy.find(query)
        let response = RouteResponse(.ok, json: DirectoryDocument(broadcasts: entries, total: total))
        if isForAll { answer.withLock { $0 = Answer(version: copy.version, response: response) } }
        return response
    }
}

/// The settings of a server's list of broadcasts.
public struct DirectorySettings: Sendable {
    /// A label of its entries.
    public var region: String?
    public var capacity = 16_384

    public init(region: String? = nil) { self.region = region }
}
