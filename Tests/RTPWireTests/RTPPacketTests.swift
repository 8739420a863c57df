import MediaCore
import RTPWire
import Testing

private let ids: HeaderExtensionMap = [.transportSequence: 3, .playoutDelay: 6, .absSendTime: 2, .mid: 9]
private let header = RTPHeader(
    marker: true, payloadType: 96, sequenceNumber: SequenceNumber(0x1234), timestamp: RTPTimestamp(0x5678_9ABC),
    ssrc: 0xDEAD_BEEF)

/// A packet as written by `WrittenPacketLayout`.
private func packet(
    _ extensions: HeaderExtensionValues, _ ids: HeaderExtensionMap = ids, header: RTPHeader = header,
    payload: [UInt8] = [1, 2, 3]
) throws -> (bytes: [UInt8], layout: WrittenPacketLayout) {
    var bytes = [UInt8](repeating: 0xEE, count: 1_200)
    let layout = try bytes.withUnsafeMutableBytes {
        try WrittenPacketLayout.write(header, extensions: extensions, ids: ids, into: $0)
    }
    return (Array(bytes[0..<layout.headerLength]) + payload, layout)
}

private let everything = HeaderExtensionValues(
    transportSequence: SequenceNumber(0xABCD), playoutDelay: PlayoutDelay(minimumUnits: 1, maximumUnits: 4_095),
    absSendTime: AbsoluteSendTime(rawValue: 0x12_3456), mid: "video0")

/// The file is long, as it has the bytes of whole packets.
@Suite struct RTPPacketTests {
    @Test func theFixedHeaderIsAsInRFC3550() throws {
        let (bytes, layout) = try packet(HeaderExtensionValues())
        #expect(bytes == [0x80, 0xE0, 0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE, 0xAD, 0xBE, 0xEF, 1, 2, 3])
        #expect(layout.headerLength == 12)
        #expect(!layout.hasTransportSequence && !layout.hasAbsSendTime)
    }

    @Test(arguments: wrapPoints, [false, true]) func headersComeBack(sequence: UInt16, marker: Bool) throws {
        for type in [0, 96, 127] as [UInt8] {
            let header = RTPHeader(
                marker: marker, payloadType: type, sequenceNumber: SequenceNumber(sequence),
                timestamp: RTPTimestamp(UInt32(sequence) << 16 | 1), ssrc: .max)
            try withBytes(try packet(everything, header: header).bytes) { bytes throws in
                let view = try RTPPacketView(bytes)
                #expect(view.header == header)
                #expect(Array(view.payload) == [1, 2, 3])
            }
        }
    }

    @Test func contributingSourcesAreSkipped() throws {
        let fixed: [UInt8] = [0x82, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9]
        try withBytes(fixed + [UInt8](1...8) + [42]) { bytes throws in
            let view = try RTPPacketView(bytes)
            #expect(view.csrcCount == 2)
            #expect(view.headerLength == 20)
            #expect(Array(view.payload) == [42])
        }
    }

    @Test func paddingIsNotPayload() throws {
        let fixed: [UInt8] = [0xA0, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9]
        try withBytes(fixed + [7, 8, 0, 0, 3]) { bytes throws in
            let view = try RTPPacketView(bytes)
            #expect(Array(view.payload) == [7, 8])
            #expect(view.paddingLength == 3)
        }
        try withBytes(fixed + [0, 0, 0, 4]) { bytes throws in #expect(try RTPPacketView(bytes).payload.isEmpty) }
        for wrong in [[0, 0, 0], [0, 0, 4], [255], []] as [[UInt8]] {
            try withBytes(fixed + wrong) { bytes throws in
                #expect(throws: RTPMalformed(.padding)) { try RTPPacketView(bytes) }
            }
        }
    }

    @Test func otherVersionsAreRefused() throws {
        for version in [0, 1, 3] as [UInt8] {
            try withBytes([version << 6] + [UInt8](repeating: 0, count: 11)) { bytes throws in
                #expect(throws: RTPMalformed(.version)) { try RTPPacketView(bytes) }
            }
        }
    }

    @Test func anExtensionLongerThanThePacketIsRefused() throws {
        let fixed: [UInt8] = [0x90, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9]
        for length in [[0, 2], [0xFF, 0xFF]] as [[UInt8]] {
            try withBytes(fixed + [0xBE, 0xDE] + length + [0, 0, 0, 0]) { bytes throws in
                #expect(throws: RTPMalformed(.extensionLength)) { try RTPPacketView(bytes) }
            }
        }
    }

    @Test func everyTruncationOfTheHeaderFailsAndNoneTraps() throws {
        let (bytes, layout) = try packet(everything)
        for length in 0..<bytes.count {
            try withBytes(bytes.prefix(length)) { prefix throws in
                let view = try? RTPPacketView(prefix)
                #expect((view == nil) == (length < layout.headerLength), "\(length) bytes")
                _ = view?.values(of: ids)
            }
        }
    }

    @Test func aShortBufferIsFullAtEveryLength() throws {
        let needed = try packet(everything).layout.headerLength
        for length in 0..<needed {
            var buffer = [UInt8](repeating: 0, count: length)
            #expect(throws: BufferFull()) {
                try buffer.withUnsafeMutableBytes {
                    _ = try WrittenPacketLayout.write(header, extensions: everything, ids: ids, into: $0)
                }
            }
        }
    }
}

@Suite struct HeaderExtensionTests {
    @Test(arguments: [ids, [.transportSequence: 3, .playoutDelay: 200, .absSendTime: 15, .mid: 255]])
    func whatIsWrittenIsReadInBothForms(ids: HeaderExtensionMap) throws {
        try withBytes(try packet(everything, ids).bytes) { bytes throws in
            let view = try RTPPacketView(bytes)
            #expect(view.extensions.profile == (ids[.playoutDelay] == 200 ? 0x1000 : 0xBEDE))
            #expect(view.headerLength % 4 == 0)
            let values = view.values(of: ids)
            #expect(values.transportSequence == everything.transportSequence)
            #expect(values.playoutDelay == everything.playoutDelay)
            #expect(values.absSendTime == everything.absSendTime)
            #expect(values.isMid("video0") && !values.isMid("video") && !values.isMid("video01"))
        }
    }

    @Test func theOneByteFormIsAsInRFC8285() throws {
        let (bytes, _) = try packet(HeaderExtensionValues(transportSequence: SequenceNumber(0x0102)))
        #expect(Array(bytes[12..<20]) == [0xBE, 0xDE, 0, 1, 0x31, 1, 2, 0])
        #expect(bytes[0] == 0x90)
    }

    @Test func aMidOver16BytesTakesTheTwoByteForm() throws {
        for length in [1, 16, 17, 255] {
            let mid = String(repeating: "m", count: length)
            try withBytes(try packet(HeaderExtensionValues(mid: mid)).bytes) { bytes throws in
                let view = try RTPPacketView(bytes)
                #expect(view.extensions.profile == (length > 16 ? 0x1000 : 0xBEDE))
                #expect(view.values(of: ids).isMid(mid))
            }
        }
    }

    @Test func valuesWithoutAnIdAndIdsWithoutAValueAreLeftAway() throws {
        #expect(try packet(everything, HeaderExtensionMap()).layout.headerLength == 12)
        #expect(try packet(HeaderExtensionValues(), ids).layout.headerLength == 12)
        #expect(try packet(HeaderExtensionValues(mid: ""), ids).layout.headerLength == 12)
        #expect(
            try packet(everything, [.transportSequence: 0]).layout.headerLength == 12)
    }

    @Test(arguments: wrapPoints) func patchingChangesTheFieldAndNothingElse(raw: UInt16) throws {
        for ids in [ids, [.transportSequence: 20, .playoutDelay: 6, .absSendTime: 2, .mid: 9]] {
            var (bytes, layout) = try packet(everything, ids)
            let time = AbsoluteSendTime(rawValue: UInt32(raw) << 8 | 0x5A)
            bytes.withUnsafeMutableBytes {
                layout.patch(SequenceNumber(raw), in: $0)
                layout.patch(time, in: $0)
            }
            var changed = everything
            changed.transportSequence = SequenceNumber(raw)
            changed.absSendTime = time
            #expect(try packet(changed, ids).bytes == bytes)
        }
    }

    @Test func patchingAPacketWithoutTheFieldDoesNothing() throws {
        var (bytes, layout) = try packet(HeaderExtensionValues(mid: "0"))
        let before = bytes
        bytes.withUnsafeMutableBytes {
            layout.patch(SequenceNumber(1), in: $0)
            layout.patch(AbsoluteSendTime(rawValue: 1), in: $0)
        }
        #expect(bytes == before)
    }

    /// The elements of an extension with these bytes, as (id, length).
    private func elements(_ profile: UInt16, _ data: [UInt8]) throws -> [[Int]] {
        let fixed: [UInt8] = [0x90, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9]
        let start = [UInt8(profile >> 8), UInt8(profile & 0xFF), 0, UInt8(data.count / 4)]
        return try withBytes(fixed + start + data) { bytes throws in
            try RTPPacketView(bytes).extensions.map { [Int($0.id), $0.data.count] }
        }
    }

    @Test func paddingMayStandBetweenElements() throws {
        #expect(try elements(0xBEDE, [0, 0x10, 7, 0, 0, 0x20, 8, 0]) == [[1, 1], [2, 1]])
        #expect(try elements(0x1000, [0, 1, 0, 0, 2, 2, 7, 8]) == [[1, 0], [2, 2]])
    }

    @Test func id15AndId0WithALengthEndTheOneByteForm() throws {
        #expect(try elements(0xBEDE, [0x10, 7, 0xF0, 1, 0x20, 8, 0, 0]) == [[1, 1]])
        #expect(try elements(0xBEDE, [0x10, 7, 0x02, 1, 0x20, 8, 0, 0]) == [[1, 1]])
    }

    @Test func anElementThatIsCutOffEndsTheExtension() throws {
        #expect(try elements(0xBEDE, [0x10, 7, 0x2F, 1]) == [[1, 1]])
        #expect(try elements(0x1000, [1, 1, 7, 2]) == [[1, 1]])
        #expect(try elements(0x1000, [1, 1, 7, 0, 2, 255, 0, 0]) == [[1, 1]])
    }

    @Test func allAppbitsOfTheTwoByteFormAndNoOtherProfileCount() throws {
        #expect(try elements(0x100F, [1, 1, 7, 0]) == [[1, 1]])
        #expect(try elements(0x1010, [1, 1, 7, 0]).isEmpty)
        #expect(try elements(0xBEDD, [0x10, 7, 0, 0]).isEmpty)
    }

    @Test func aValueOfTheWrongLengthIsNoValue() throws {
        let fixed: [UInt8] = [0x90, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0xBE, 0xDE, 0, 2]
        try withBytes(fixed + [0x30, 1, 0x61, 1, 2, 0x23, 1, 2]) { bytes throws in
            let values = try RTPPacketView(bytes).values(of: ids)
            #expect(values.transportSequence == nil && values.playoutDelay == nil && values.absSendTime == nil)
        }
    }
}

@Suite struct PlayoutDelayTests {
    @Test func unitsAreTenMillisecondsAndCutTo12Bits() throws {
        let delay = PlayoutDelay(minimumUnits: 3, maximumUnits: .max)
        #expect(delay.minimum == .milliseconds(30))
        #expect(delay.maximum == .milliseconds(40_950))
    }
}

@Suite struct AbsoluteSendTimeTests {
    @Test func aSecondHas2To18Units() throws {
        #expect(AbsoluteSendTime(MediaInstant(nanoseconds: 1_500_000_000)).rawValue == 0x06_0000)
        #expect(AbsoluteSendTime(MediaInstant(nanoseconds: 65_000_000_000)).rawValue == 0x04_0000)
        #expect(AbsoluteSendTime(MediaInstant(nanoseconds: -1_000_000_000)).rawValue == 0xFC_0000)
    }

    @Test func differencesCrossTheWrap() throws {
        let late = AbsoluteSendTime(MediaInstant(nanoseconds: 63_500_000_000))
        let early = AbsoluteSendTime(MediaInstant(nanoseconds: 64_500_000_000))
        #expect(late.duration(to: early) == .seconds(1))
        #expect(early.duration(to: late) == .seconds(-1))
    }
}

@Suite struct RTXTests {
    /// Wraps a packet and passes the retransmission to `body`.
    private func wrap(_ original: [UInt8], mid: (UInt8, String)? = nil) throws -> [UInt8] {
        try withBytes(original) { bytes throws in
            var buffer = [UInt8](repeating: 0xEE, count: 1_500)
            let length = try buffer.withUnsafeMutableBytes {
                try RTX.wrap(
                    try RTPPacketView(bytes), of: bytes, ssrc: 0x0102_0304, payloadType: 97,
                    sequenceNumber: SequenceNumber(500), mid: mid, into: $0)
            }
            return Array(buffer[0..<length])
        }
    }

    @Test(arguments: wrapPoints) func theOriginalComesBack(sequence: UInt16) throws {
        var changed = header
        changed.sequenceNumber = SequenceNumber(sequence)
        let original = try packet(everything, header: changed)
        try withBytes(try wrap(original.bytes)) { bytes throws in
            let retransmission = try RTPPacketView(bytes)
            #expect(retransmission.ssrc == 0x0102_0304)
            #expect(retransmission.payloadType == 97)
            #expect(retransmission.sequenceNumber == SequenceNumber(500))
            #expect(retransmission.timestamp == header.timestamp && retransmission.marker)
            #expect(retransmission.values(of: ids).isMid("video0"))
            let again = try #require(try RTX.unwrap(retransmission, ssrc: header.ssrc, payloadType: 96))
            #expect(again.header == changed)
            #expect(Array(again.payload) == [1, 2, 3])
        }
    }

    @Test func theLayoutOfTheOriginalPatchesTheCopy() throws {
        let (bytes, layout) = try packet(everything)
        var copy = try wrap(bytes)
        copy.withUnsafeMutableBytes { layout.patch(SequenceNumber(77), in: $0) }
        try withBytes(copy) { bytes throws in
            #expect(try RTPPacketView(bytes).values(of: ids).transportSequence == SequenceNumber(77))
        }
    }

    /// In both forms of the extension, patched fields and the original sequence number keep their places.
    @Test(arguments: [1, 15] as [UInt8], ["0", "video0", "a mid of seventeen"])
    func theCopySaysItsSection(id: UInt8, mid: String) throws {
        var ids = ids
        ids[.mid] = id
        var plain = everything
        plain.mid = nil
        // The form is that of the original, which has further elements.
        if id > 14 || mid.utf8.count > 16 { ids[.transportSequence] = 20 }
        let (bytes, layout) = try packet(plain, ids)
        var copy = try wrap(bytes, mid: (id, mid))
        #expect(copy.count % 4 == (bytes.count + RTX.overhead) % 4)
        copy.withUnsafeMutableBytes { layout.patch(SequenceNumber(77), in: $0) }
        try withBytes(copy) { bytes throws in
            let view = try RTPPacketView(bytes)
            #expect(view.values(of: ids).isMid(mid))
            #expect(view.values(of: ids).transportSequence == SequenceNumber(77))
            #expect(view.values(of: ids).playoutDelay == everything.playoutDelay)
            let again = try #require(try RTX.unwrap(view, ssrc: header.ssrc, payloadType: 96))
            #expect(Array(again.payload) == [1, 2, 3])
        }
        // The mid is not added twice.
        let whole = try packet(everything, ids).bytes
        #expect(try wrap(whole, mid: (id, mid)) == wrap(whole))
        // A packet without an extension gets one.
        let bare: [UInt8] = [0x80, 0xE0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 7, 8]
        try withBytes(try wrap(bare, mid: (id, mid))) { bytes throws in
            let view = try RTPPacketView(bytes)
            #expect(view.values(of: ids).isMid(mid))
            #expect(Array(view.payload) == [0, 1, 7, 8])
        }
    }

    @Test func paddingOfTheOriginalIsLeftAway() throws {
        let copy = try wrap([0xA0, 0xE0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 7, 8, 0, 0, 3])
        #expect(copy == [0x80, 0xE1, 0x01, 0xF4, 0, 0, 0, 0, 1, 2, 3, 4, 0, 1, 7, 8])
    }

    @Test func anEmptyPayloadIsLegalAndRepeatsNothing() throws {
        for bytes in [
            [0x80, 97] + [UInt8](repeating: 0, count: 10), [0xA0, 97] + [UInt8](repeating: 0, count: 10) + [1],
        ] {
            try withBytes(bytes) { bytes throws in
                #expect(try RTX.unwrap(try RTPPacketView(bytes), ssrc: 1, payloadType: 96) == nil)
            }
        }
    }

    @Test func oneByteIsNoSequenceNumberAndTwoAreAnEmptyOriginal() throws {
        let fixed: [UInt8] = [0x80, 97] + [UInt8](repeating: 0, count: 10)
        try withBytes(fixed + [1]) { bytes throws in
            let view = try RTPPacketView(bytes)
            #expect(throws: RTPMalformed(.rtx)) { try RTX.unwrap(view, ssrc: 1, payloadType: 96) }
        }
        try withBytes(fixed + [1, 2]) { bytes throws in
            let original = try #require(try RTX.unwrap(try RTPPacketView(bytes), ssrc: 1, payloadType: 96))
            #expect(original.sequenceNumber == SequenceNumber(0x0102))
            #expect(original.payload.isEmpty)
        }
    }

    @Test func aShortBufferIsFull() throws {
        let bytes = try packet(everything).bytes
        try withBytes(bytes) { original throws in
            for length in 0..<(bytes.count + RTX.overhead) {
                var buffer = [UInt8](repeating: 0, count: length)
                #expect(throws: BufferFull()) {
                    try buffer.withUnsafeMutableBytes {
                        _ = try RTX.wrap(
                            try RTPPacketView(original), of: original, ssrc: 1, payloadType: 97,
                            sequenceNumber: SequenceNumber(1), into: $0)
                    }
                }
            }
        }
    }
}
