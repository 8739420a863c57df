/// Why there is no agent, in a sentence.
public struct ICEFailure: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}
