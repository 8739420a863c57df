/// The ports of a host and a service without `--listen`, the same each time, so that a firewall can let them in ahead
/// and what a browser remembers of them stays valid.
package enum DefaultPorts {
    /// The first TCP port for signalling, and how many after it are tried when it is in use.
    package static let signaling = 27_427
    package static let further = 9
    /// The UDP ports for media. When all are taken, others are used.
    package static let media: ClosedRange<UInt16> = 27_500...27_755
}
