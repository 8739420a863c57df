/// The last flight of a DTLS server (ChangeCipherSpec and Finished), which answers a repetition of the client's (RFC
/// 6347 section 4.2.4). It is repeated as it was sent, like a datagram that the network duplicates, without OpenSSL.
struct LastFlight: Sendable {
    /// Anybody can forge the reason for a repetition.
    static let repetitionLimit = 8

    private var datagrams: [[UInt8]]
    private let cipher: DTLSRecordFilter.Cipher
    private var repetitions = 0

    init(_ datagrams: [[UInt8]], cipher: DTLSRecordFilter.Cipher) {
        self.datagrams = datagrams
        self.cipher = cipher
    }

    /// The datagrams to send once more: if one of the records may be the client's Finished, and `repetitionLimit`
    /// times.
    mutating func answer(to records: [DTLSRecord]) -> [[UInt8]] {
        guard repetitions < Self.repetitionLimit,
            records.contains(where: { DTLSRecordFilter.canBeFinished($0, with: cipher) })
        else { return [] }
        repetitions += 1
        defer { if repetitions == Self.repetitionLimit { datagrams = [] } }
        return datagrams
    }
}
