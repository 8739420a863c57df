import FrameEncryption
import Testing

@testable import SFrame

/// The test vectors of RFC 9605, appendix C.
@Suite struct SFrameTests {
    private func bytes(_ hexadecimal: some StringProtocol) -> [UInt8] {
        stride(from: 0, to: hexadecimal.count, by: 2).compactMap {
            UInt8(hexadecimal.dropFirst($0).prefix(2), radix: 16)
        }
    }

    @Test func headersAreThoseOfTheRFC() throws {
        let vectors = headerVectors.split { $0 == "," || $0 == "\n" }
        #expect(vectors.count == 289)
        for vector in vectors {
            let fields = vector.split(separator: " ")
            let header = SFrameHeader(
                keyID: try #require(UInt64(fields[0])), counter: try #require(UInt64(fields[1])))
            let encoded = bytes(fields[2])
            #expect(header.bytes == encoded)
            (encoded + [1, 2]).withUnsafeBytes {
                let parsed = SFrameHeader.parse($0)
                #expect(parsed?.header == header && parsed?.length == encoded.count)
            }
            for length in 0..<encoded.count {
                encoded.prefix(length).withUnsafeBytes { #expect(SFrameHeader.parse($0) == nil) }
            }
        }
    }

    @Test func framesAreThoseOfTheRFC() {
        let key = SFrameKey<GCMFrameCipher>(baseKey: bytes("000102030405060708090a0b0c0d0e0f"), keyID: 291)
        #expect(key.nonce(17_767) == bytes("75234edefe07819026755d71"))
        var sealed: [UInt8] = []
        bytes("64726166742d696574662d736672616d652d656e63").withUnsafeBytes { plaintext in
            bytes("4945544620534672616d65205747").withUnsafeBytes { metadata in
                key.seal(plaintext, counter: 17_767, metadata: metadata, to: &sealed)
            }
        }
        #expect(
            sealed == bytes("9901234567b7412c2513a1b66dbb48841bbaf17f598751176ad847681a69c6d0b091c07018ce4adb34eb"))
    }
}
