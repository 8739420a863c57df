import TestSupport
import Testing

@testable import DTLSTransport

@Suite struct DTLSRecordTests {
    private func records(_ bytes: [UInt8]) -> [DTLSRecord] { bytes.withUnsafeBytes { DTLSRecord.records(in: $0) } }

    private func admits(_ bytes: [UInt8], isServer: Bool) -> [Bool] {
        bytes.withUnsafeBytes { datagram in
            DTLSRecord.records(in: datagram).map {
                DTLSRecordFilter(isServer: isServer).admitsPlaintext($0, in: datagram)
            }
        }
    }

    @Test func recordsEndAtTheFirstMalformedOne() {
        let good = ForgedRecord.make(22, epoch: 1, count: 5)
        #expect(records(good + good).map(\.range) == [0..<18, 18..<36])
        #expect(records(good).first?.epoch == 1)
        #expect(records(good + good.dropLast()).count == 1)
        #expect(records(good + good.prefix(12)).count == 1)
        var wrongVersion = good
        wrongVersion[1] = 3
        #expect(records(wrongVersion + good).isEmpty)
        // Application data and heartbeats are left out.
        #expect(records(ForgedRecord.make(23, epoch: 1, count: 5) + good).map(\.range) == [18..<36])
        #expect(records([]).isEmpty)
        #expect(records(ForgedRecord.make(22, epoch: 0, count: 0)).map(\.fragment) == [13..<13])
        #expect(records(ForgedRecord.make(22, epoch: 0, count: 18_433)).isEmpty)
    }

    @Test func anyBytesAreReadWithoutATrap() {
        var generator = SeededGenerator(seed: 33)
        for _ in 0..<20_000 {
            var bytes = (0..<Int.random(in: 0...80, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            if bytes.count > 25 {
                bytes.replaceSubrange(0..<3, with: [22, 254, 253])
                (bytes[11], bytes[12]) = (0, UInt8(bytes.count - 13))
                bytes[13] = [1, 2, 3, 11, 12, 13, 14, 15, 16].randomElement(using: &generator) ?? 1
            }
            _ = admits(bytes, isServer: true)
            _ = admits(bytes, isServer: false)
        }
    }

    @Test func plaintextAlertsAndLaterEpochsAreDropped() {
        for isServer in [true, false] {
            #expect(admits(ForgedRecord.alert(40), isServer: isServer) == [false])
            #expect(admits(ForgedRecord.make(22, epoch: 1, count: 48), isServer: isServer) == [false])
            #expect(admits(ForgedRecord.make(20, epoch: 0, [1]), isServer: isServer) == [true])
            #expect(admits(ForgedRecord.make(20, epoch: 0, [2]), isServer: isServer) == [false])
        }
    }

    /// A message of another type or at another place ends a handshake of OpenSSL, or is kept.
    @Test func messagesAreAdmittedAtTheirPlaceOnly() {
        let places: [(type: UInt8, isServer: Bool, range: ClosedRange<UInt16>)] = [
            (1, true, 0...0), (11, true, 1...1), (16, true, 2...2), (15, true, 3...3), (3, false, 0...0),
            (2, false, 0...1), (11, false, 1...2), (12, false, 2...3), (13, false, 3...4), (14, false, 3...5),
        ]
        for type: UInt8 in 0...30 {
            for sequence: UInt16 in 0...7 {
                for isServer in [true, false] {
                    let record = ForgedRecord.handshake(type, sequence: sequence, body: [1, 2, 3])
                    let isExpected = places.contains {
                        $0.type == type && $0.isServer == isServer && $0.range.contains(sequence)
                    }
                    #expect(admits(record, isServer: isServer) == [isExpected], "type \(type), sequence \(sequence)")
                }
            }
        }
    }

    @Test func malformedFragmentsAreDropped() {
        func certificate(length: Int, offset: Int, count: Int, body: Int) -> [UInt8] {
            let header: [UInt8] = [
                11, UInt8(length >> 16), UInt8(length >> 8 & 255), UInt8(length & 255), 0, 1, UInt8(offset >> 16),
                UInt8(offset >> 8 & 255), UInt8(offset & 255), 0, UInt8(count >> 8), UInt8(count & 255),
            ]
            return ForgedRecord.make(22, epoch: 0, header + [UInt8](repeating: 7, count: body))
        }
        #expect(admits(certificate(length: 100, offset: 90, count: 10, body: 10), isServer: true) == [true])
        #expect(admits(certificate(length: 100, offset: 91, count: 10, body: 10), isServer: true) == [false])
        #expect(admits(certificate(length: 100, offset: 0, count: 11, body: 10), isServer: true) == [false])
        #expect(admits(certificate(length: 100, offset: 0, count: 0, body: 0), isServer: true) == [false])
        #expect(admits(certificate(length: 16_385, offset: 0, count: 10, body: 10), isServer: true) == [false])
        #expect(admits(certificate(length: 16_384, offset: 16_374, count: 10, body: 10), isServer: true) == [true])
        // What follows the message is not one.
        #expect(admits(certificate(length: 10, offset: 0, count: 10, body: 11), isServer: true) == [false])
    }

    @Test func protectedRecordsHaveTheLengthOfTheirCipher() {
        for count in 0...80 {
            for (cipher, overhead) in [(DTLSRecordFilter.Cipher.gcm, 24), (.chaCha20Poly1305, 16)] {
                let alert = records(ForgedRecord.make(21, epoch: 1, count: count))
                let finished = records(ForgedRecord.make(22, epoch: 1, count: count))
                #expect(alert.map { DTLSRecordFilter.canBeAlert($0, with: cipher) } == [count == overhead + 2])
                #expect(finished.map { DTLSRecordFilter.canBeFinished($0, with: cipher) } == [count == overhead + 24])
            }
        }
        let late = records(ForgedRecord.make(21, epoch: 2, count: 26))
        #expect(late.map { DTLSRecordFilter.canBeAlert($0, with: .gcm) } == [false])
    }

    @Test func theLastFlightIsRepeatedEightTimes() {
        var flight = LastFlight([[1], [2]], cipher: .gcm)
        let finished = records(ForgedRecord.make(22, epoch: 1, count: 48))
        #expect(flight.answer(to: records(ForgedRecord.make(22, epoch: 1, count: 40))).isEmpty)
        #expect(flight.answer(to: records(ForgedRecord.make(22, epoch: 0, count: 48))).isEmpty)
        #expect(
            (0..<20).map { _ in flight.answer(to: finished).count } == Array(repeating: 2, count: 8)
                + Array(repeating: 0, count: 12))
    }
}

/// Records that anybody can make.
enum ForgedRecord {
    static func make(_ type: UInt8, epoch: UInt16, number: UInt64 = 0xFFFF_FFFF_FFFF, _ fragment: [UInt8]) -> [UInt8] {
        [type, 0xFE, 0xFD, UInt8(epoch >> 8), UInt8(epoch & 255)]
            + (0..<6).map { UInt8(truncatingIfNeeded: number >> (40 - 8 * UInt64($0))) }
            + [UInt8(fragment.count >> 8), UInt8(fragment.count & 255)] + fragment
    }

    static func make(_ type: UInt8, epoch: UInt16, number: UInt64 = 0xFFFF_FFFF_FFFF, count: Int) -> [UInt8] {
        make(type, epoch: epoch, number: number, [UInt8](repeating: 0xA5, count: count))
    }

    /// A fatal alert in plaintext.
    static func alert(_ description: UInt8) -> [UInt8] { make(21, epoch: 0, [2, description]) }

    /// A whole message in one fragment.
    static func handshake(_ type: UInt8, sequence: UInt16, body: [UInt8]) -> [UInt8] {
        let length: [UInt8] = [0, UInt8(body.count >> 8), UInt8(body.count & 255)]
        let place: [UInt8] = [UInt8(sequence >> 8), UInt8(sequence & 255), 0, 0, 0]
        return make(22, epoch: 0, [type] + length + place + length + body)
    }

    /// The ClientHello of a datagram with another random.
    static func hello(_ datagram: [UInt8], random: UInt8) -> [UInt8] {
        var bytes = datagram
        for index in 27..<59 { bytes[index] = random }
        return bytes
    }
}
