import MediaCore
import RTPWire
import Testing

@Suite struct RTCPIteratorTests {
    @Test func aCompoundPacketGivesItsPacketsInOrder() throws {
        let bytes = try written { writer throws in
            try senderInfo.write(into: &writer)
            try SourceDescription.write(ssrc: 1, cname: "abc", into: &writer)
            try PictureLossIndication(senderSSRC: 1, mediaSSRC: 2).write(into: &writer)
            try Goodbye.write(ssrc: 1, into: &writer)
        }
        try packets(bytes) { found throws in
            #expect(found.count == 4)
            guard case .senderReport = found[0], case .sourceDescription = found[1], case .pictureLoss = found[2],
                case .goodbye = found[3]
            else {
                Issue.record("wrong packets: \(found)")
                return
            }
        }
    }

    @Test func aReducedSizePacketNeedsNoReport() throws {
        let bytes = try written { try PictureLossIndication(senderSSRC: 1, mediaSSRC: 2).write(into: &$0) }
        #expect(bytes == [0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2])
        try packets(bytes) { #expect($0.count == 1) }
    }

    @Test func noBytesAreNoPackets() throws {
        try packets([]) { #expect($0.isEmpty) }
    }

    @Test func aLengthPastTheDatagramEndsTheIteration() throws {
        let first = try written { try Goodbye.write(ssrc: 1, into: &$0) }
        for length in [[0, 2], [0xFF, 0xFF], [0x7F, 0xFF]] as [[UInt8]] {
            try withBytes(first + [0x81, 206] + length + [0, 0, 0, 1]) { bytes throws in
                var iterator = RTCPIterator(bytes)
                #expect(try iterator.next() != nil)
                #expect(throws: RTPMalformed(.rtcpLength)) { _ = try iterator.next() }
                #expect(try iterator.next() == nil)
            }
        }
    }

    @Test func anotherVersionEndsTheIteration() throws {
        try withBytes([0x41, 203, 0, 1, 0, 0, 0, 1]) { bytes throws in
            var iterator = RTCPIterator(bytes)
            #expect(throws: RTPMalformed(.version)) { _ = try iterator.next() }
            #expect(try iterator.next() == nil)
        }
    }

    @Test func aPacketWithAWrongCountDoesNotHideTheNext() throws {
        let good = try written { try Goodbye.write(ssrc: 1, into: &$0) }
        try withBytes([0x9F, 203, 0, 1, 0, 0, 0, 1] + good) { bytes throws in
            var iterator = RTCPIterator(bytes)
            #expect(throws: RTPMalformed(.rtcpCount)) { _ = try iterator.next() }
            #expect(try iterator.next() != nil)
            #expect(try iterator.next() == nil)
        }
    }

    @Test func paddingIsRemovedAndCheckedFirst() throws {
        try packets([0xA1, 203, 0, 2, 0, 0, 0, 9, 0, 0, 0, 4]) { found throws in
            guard case .goodbye(let goodbye) = found.first else {
                Issue.record("no goodbye")
                return
            }
            #expect(Array(goodbye) == [9])
        }
        for count in [0, 9, 255] as [UInt8] {
            try withBytes([0xA1, 203, 0, 2, 0, 0, 0, 9, 0, 0, 0, count]) { bytes throws in
                var iterator = RTCPIterator(bytes)
                #expect(throws: RTPMalformed(.padding)) { _ = try iterator.next() }
            }
        }
        try withBytes([0xA0, 203, 0, 0]) { bytes throws in
            var iterator = RTCPIterator(bytes)
            #expect(throws: RTPMalformed(.padding)) { _ = try iterator.next() }
        }
    }

    @Test func unknownPacketsAreNamedAndPassedOver() throws {
        let bytes: [UInt8] = [0x82, 204, 0, 2, 0, 0, 0, 1, 0x61, 0x62, 0x63, 0x64, 0x80, 210, 0, 0, 0x9E, 205, 0, 0]
        try packets(bytes) { found throws in
            let seen = found.map {
                if case .other(let type, let format) = $0 { [type, format] } else { [UInt8]() }
            }
            #expect(seen == [[204, 2], [210, 0], [205, 30]])
        }
    }
}
