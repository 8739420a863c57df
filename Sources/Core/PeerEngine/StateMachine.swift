public import MediaCore

/// A session's logic as a value without I/O: an input gives actions, which somebody else carries out in their order.
public protocol StateMachine: Sendable {
    associatedtype Input: Sendable
    associatedtype Action: Sendable

    mutating func handle(
        _ input: Input, now: MediaInstant, using generator: inout some RandomNumberGenerator
    ) -> [Action]

    /// When to call `advance`; nil for never.
    var deadline: MediaInstant? { get }

    /// Handles that the deadline has passed.
    mutating func advance(now: MediaInstant, using generator: inout some RandomNumberGenerator) -> [Action]
}
