import Admission
import HTTP
import Identifiers
import Synchronization

/// A broadcast or a service, as a server finds it in the path of a request.
protocol ServedResource: AnyObject, Sendable {
    associatedtype ID: Hashable & Sendable
    /// The word for a resource in messages.
    static var noun: String { get }
    static var existsCode: SignalingServerError.Code { get }
    static var fullCode: SignalingServerError.Code { get }
    var id: ID { get }
}

/// The broadcasts or the services of a server by their identifiers. Safe from any thread.
///
/// Only the server's own process adds to it. A full table refuses more.
final class ResourceTable<Resource: ServedResource>: Sendable {
    private struct State {
        var resources: [Resource.ID: Resource] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    /// The dictionary's hashes are seeded at random, so the time of a lookup reveals nothing about other identifiers.
    subscript(id: Resource.ID) -> Resource? { state.withLock { $0.resources[id] } }

    var count: Int { state.withLock { $0.resources.count } }

    /// - Throws: `.broadcastExists`, `.tooManyBroadcasts` and the like, or `.stopped` after `close`; the table is then
    ///   unchanged.
    func add(_ resource: Resource) throws(SignalingServerError) {
        let id = resource.id
        let failure: SignalingServerError? = state.withLock { state in
            if state.isClosed { return .stopped }
            if state.resources[id] != nil {
                return SignalingServerError(
                    Resource.existsCode, "this server has a \(Resource.noun) with that identifier")
            }
            if state.resources.count >= capacity {
                return SignalingServerError(
                    Resource.fullCode, "this server takes \(capacity) \(Resource.noun)s at most")
            }
            state.resources[id] = resource
            return nil
        }
        if let failure { throw failure }
    }

    /// Removes this resource. Does nothing if it has been removed, also if its identifier is in use again.
    func remove(_ resource: Resource) {
        state.withLock { state in
            guard state.resources[resource.id] === resource else { return }
            state.resources[resource.id] = nil
        }
    }

    /// Refuses further ones.
    /// - Returns: those that the table has.
    func close() -> [Resource] {
        state.withLock { state in
            state.isClosed = true
            return Array(state.resources.values)
        }
    }

    func removeAll() { state.withLock { $0.resources = [:] } }
}

typealias BroadcastTable = ResourceTable<BroadcastResource>
typealias ServiceTable = ResourceTable<ServiceResource>

extension BroadcastResource: ServedResource {
    static var noun: String { "broadcast" }
    static var existsCode: SignalingServerError.Code { .broadcastExists }
    static var fullCode: SignalingServerError.Code { .tooManyBroadcasts }
}

extension ServiceResource: ServedResource {
    static var noun: String { "service" }
    static var existsCode: SignalingServerError.Code { .serviceExists }
    static var fullCode: SignalingServerError.Code { .tooManyServices }
}
