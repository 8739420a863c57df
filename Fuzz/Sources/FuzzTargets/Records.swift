@testable import DTLSTransport

/// A datagram of DTLS records, as a server and a client read it before the handshake is complete.
func fuzzDTLS(_ bytes: UnsafeRawBufferPointer) {
    var end = 0
    for record in DTLSRecord.records(in: bytes) {
        require(record.range.lowerBound >= end && record.range.upperBound <= bytes.count, "records in their order")
        end = record.range.upperBound
        touch(UnsafeRawBufferPointer(rebasing: bytes[record.fragment]))
        for fragment in HandshakeFragment.fragments(of: record, in: bytes) ?? [] {
            require(fragment.offset + fragment.body.count <= fragment.length, "a fragment within its message")
            touch(UnsafeRawBufferPointer(rebasing: bytes[fragment.body]))
            _ = fragment.random(in: bytes)
        }
        for isServer in [true, false] {
            let isAdmitted = DTLSRecordFilter(isServer: isServer).admitsPlaintext(record, in: bytes)
            require(!isAdmitted || record.epoch == 0 && record.content != .alert, "a record that is admitted")
        }
    }
}
