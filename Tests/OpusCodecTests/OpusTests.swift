import Foundation
import MediaCore
import OpusCodec
import TestSupport
import Testing

/// A continuous tone in packets of 10 ms.
struct Tone {
    var hertz = 440.0
    var level = 8_000.0
    private var frame = 0

    init(hertz: Double = 440, level: Double = 8_000) {
        self.hertz = hertz
        self.level = level
    }

    mutating func next(samplesPerChannel: Int = 480) -> [Int16] {
        defer { frame += samplesPerChannel }
        return (0..<samplesPerChannel).flatMap { i in
            let value = Int16(level * sin(2 * .pi * hertz * Double(frame + i) / 48_000))
            return [value, value]
        }
    }
}

struct OpusRoundTrip {
    let encoder: OpusFrameEncoder
    let decoder: OpusFrameDecoder

    init(_ content: OpusFrameEncoder.Content, bitrate: Bitrate? = nil, usesDTX: Bool? = nil) throws {
        encoder = try OpusFrameEncoder(content, bitrate: bitrate, usesDTX: usesDTX)
        decoder = try OpusFrameDecoder()
    }

    func encode(_ samples: [Int16]) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: OpusFrameEncoder.maximumPacketBytes)
        let count = try samples.withUnsafeBufferPointer { samples in
            try bytes.withUnsafeMutableBytes { try encoder.encode(samples, into: $0) }
        }
        return Array(bytes[..<count])
    }

    func decode(_ packet: [UInt8]?, useFEC: Bool = false, samplesPerChannel: Int = 480) throws -> [Int16] {
        var samples = [Int16](repeating: 0, count: OpusFrameDecoder.maximumFrames * 2)
        let count = try samples.withUnsafeMutableBufferPointer { samples in
            if let packet {
                return try packet.withUnsafeBytes {
                    try decoder.decode($0, useFEC: useFEC, samplesPerChannel: samplesPerChannel, into: samples)
                }
            }
            return try decoder.decode(nil, useFEC: useFEC, samplesPerChannel: samplesPerChannel, into: samples)
        }
        return Array(samples[..<(count * 2)])
    }
}

func level(_ samples: [Int16]) -> Double {
    (samples.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(max(samples.count, 1))).squareRoot()
}

/// The share of the samples' energy at one frequency, 0...1.
func share(of hertz: Double, in samples: [Int16]) -> Double {
    var (real, imaginary, energy) = (0.0, 0.0, 0.0)
    let samplesPerChannel = samples.count / 2
    for i in 0..<samplesPerChannel {
        let value = Double(samples[2 * i])
        real += value * cos(2 * .pi * hertz * Double(i) / 48_000)
        imaginary += value * sin(2 * .pi * hertz * Double(i) / 48_000)
        energy += value * value
    }
    return energy == 0 ? 0 : 2 * (real * real + imaginary * imaginary) / (energy * Double(samplesPerChannel))
}

@Suite struct OpusTests {
    @Test(arguments: [OpusFrameEncoder.Content.systemAudio, .microphone], [480, 960])
    func toneSurvives(content: OpusFrameEncoder.Content, samplesPerChannel: Int) throws {
        let codec = try OpusRoundTrip(content, usesDTX: false)
        var tone = Tone()
        var heard: [Int16] = []
        for i in 0..<50 {
            let packet = try codec.encode(tone.next(samplesPerChannel: samplesPerChannel))
            #expect(!packet.isEmpty)
            let samples = try codec.decode(packet)
            #expect(samples.count == samplesPerChannel * 2)
            if i >= 20 { heard += samples }
        }
        #expect(abs(level(heard) / (8_000 / 2.squareRoot()) - 1) < 0.15)
        #expect(share(of: 440, in: heard) > 0.95)
    }

    @Test func digitalSilenceIsNotSent() throws {
        let codec = try OpusRoundTrip(.systemAudio)
        let silence = [Int16](repeating: 0, count: 960)
        #expect(try codec.encode(silence).isEmpty)
        var tone = Tone()
        for _ in 0..<5 { #expect(try !codec.encode(tone.next()).isEmpty) }
        // The decaying end of the tone is still sent.
        #expect(try !codec.encode(silence).isEmpty)
        #expect(try !codec.encode(silence).isEmpty)
        for _ in 0..<5 { #expect(try codec.encode(silence).isEmpty) }
        #expect(try !codec.encode(tone.next()).isEmpty)
    }

    @Test func oneLoudSampleAtTheEndIsNotSilence() throws {
        let codec = try OpusRoundTrip(.systemAudio)
        var samples = [Int16](repeating: 0, count: 960)
        samples[959] = 1_000
        #expect(try !codec.encode(samples).isEmpty)
    }

    @Test func discontinuousTransmissionFallsSilentOnFaintNoise() throws {
        let codec = try OpusRoundTrip(.microphone, usesDTX: true)
        var sent = 0
        for i in 0..<200 {
            let faint = (0..<960).map { Int16(($0 * 7 + i) % 3 - 1) }
            if try !codec.encode(faint).isEmpty { sent += 1 }
        }
        #expect(sent < 150)
    }

    @Test func lostPacketIsConcealedAtTheSameLevel() throws {
        let codec = try OpusRoundTrip(.systemAudio)
        var tone = Tone()
        var before: [Int16] = []
        for _ in 0..<30 { before = try codec.decode(try codec.encode(tone.next())) }
        _ = try codec.encode(tone.next())
        let concealed = try codec.decode(nil)
        #expect(concealed.count == 960)
        #expect(level(concealed) > level(before) / 2)
    }

    /// libopus codes system audio as music (CELT), which has no FEC. It switches to speech coding (SILK), which has, at
    /// more than 5 % of loss.
    @Test(arguments: [0.0, 0.06, 0.1, 0.3])
    func systemAudioIsRedundantWhereMuchIsLost(loss: Double) throws {
        let codec = try OpusRoundTrip(.systemAudio)
        codec.encoder.setExpectedLoss(loss)
        var faint = Tone(hertz: 300, level: 60)
        var loud = Tone(hertz: 300, level: 12_000)
        for _ in 0..<30 { _ = try codec.decode(try codec.encode(faint.next(samplesPerChannel: 960))) }
        _ = try codec.encode(loud.next(samplesPerChannel: 960))
        let following = try codec.encode(loud.next(samplesPerChannel: 960))
        let restored = level(try codec.decode(following, useFEC: true, samplesPerChannel: 960))
        print("expected loss", loss, "restored", Int(restored), "packet", following.count)
        #expect(loss == 0 ? restored < 500 : restored > 2_000)
    }

    @Test func redundancyBringsALostPacketBack() throws {
        // The tone starts in the lost packet, so that FEC can restore it and concealment cannot.
        func levelOfLostPacket(useFEC: Bool) throws -> Double {
            let codec = try OpusRoundTrip(.microphone, bitrate: .kilobits(40), usesDTX: false)
            codec.encoder.setExpectedLoss(0.2)
            var faint = Tone(hertz: 300, level: 60)
            var loud = Tone(hertz: 300, level: 12_000)
            for _ in 0..<30 { _ = try codec.decode(try codec.encode(faint.next(samplesPerChannel: 960))) }
            _ = try codec.encode(loud.next(samplesPerChannel: 960))
            let following = try codec.encode(loud.next(samplesPerChannel: 960))
            return level(try codec.decode(useFEC ? following : nil, useFEC: useFEC, samplesPerChannel: 960))
        }
        let concealed = try levelOfLostPacket(useFEC: false)
        let restored = try levelOfLostPacket(useFEC: true)
        #expect(restored > 2_000)
        #expect(restored > 4 * concealed)
    }

    @Test func redundancyCostsNothingWithoutLoss() throws {
        func bytes(loss: Double) throws -> Int {
            let codec = try OpusRoundTrip(.microphone, bitrate: .kilobits(40), usesDTX: false)
            codec.encoder.setExpectedLoss(loss)
            codec.encoder.setExpectedLoss(.nan)
            var tone = Tone()
            return try (0..<20).reduce(0) { sum, _ in sum + (try codec.encode(tone.next()).count) }
        }
        #expect(try bytes(loss: 0) == (try bytes(loss: -3)))
    }

    @Test func bitrateIsFollowedAndClamped() throws {
        func bytes(_ bitrate: Bitrate) throws -> Int {
            let codec = try OpusRoundTrip(.systemAudio)
            codec.encoder.setBitrate(bitrate)
            var random = SystemRandomNumberGenerator()
            return try (0..<50).reduce(0) { sum, _ in
                sum + (try codec.encode((0..<960).map { _ in Int16.random(in: -9_000...9_000, using: &random) }).count)
            }
        }
        let low = try bytes(.kilobits(32))
        let high = try bytes(.kilobits(160))
        #expect(high > 3 * low)
        #expect(try bytes(Bitrate(bitsPerSecond: -5)) > 0)
        #expect(try bytes(.kilobits(1_000_000)) <= 50 * OpusFrameEncoder.maximumPacketBytes)
    }

    @Test func wrongLengthsAreRefused() throws {
        let codec = try OpusRoundTrip(.systemAudio)
        for count in [0, 1, 2, 958, 961, 1_440, 3_840] {
            #expect(throws: CodecFailure.self) { try codec.encode([Int16](repeating: 1, count: count)) }
        }
        #expect(throws: CodecFailure.self) { try codec.decode([]) }
        #expect(throws: CodecFailure.self) { try codec.decode(nil, samplesPerChannel: 0) }
        #expect(throws: CodecFailure.self) { try codec.decode(nil, samplesPerChannel: -480) }
        #expect(try codec.decode(nil, samplesPerChannel: 100_000).count <= OpusFrameDecoder.maximumFrames * 2)
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func garbageNeverEndsTheProcess(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let codec = try OpusRoundTrip(.systemAudio)
        var tone = Tone()
        for _ in 0..<1_500 {
            var packet = try codec.encode(tone.next())
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                packet = (0..<Int.random(in: 0..<400, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
            case 1: packet = Array(packet.prefix(Int.random(in: 0...packet.count, using: &random)))
            case 2:
                for _ in 0..<Int.random(in: 1..<8, using: &random) where !packet.isEmpty {
                    packet[Int.random(in: packet.indices, using: &random)] ^=
                        1 << UInt8.random(in: 0..<8, using: &random)
                }
            default: break
            }
            let samples = try? codec.decode(packet, useFEC: Bool.random(using: &random))
            #expect((samples?.count ?? 0) <= OpusFrameDecoder.maximumFrames * 2)
        }
        // Decoding works as before afterwards.
        var heard: [Int16] = []
        for i in 0..<40 {
            let samples = try codec.decode(try codec.encode(tone.next()))
            if i >= 20 { heard += samples }
        }
        #expect(share(of: 440, in: heard) > 0.9)
    }
}
