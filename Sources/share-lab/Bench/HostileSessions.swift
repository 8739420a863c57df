import HTTP
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import Signaling

/// Viewers with the link who are admitted and offer sessions one after another, but never send a packet.
final class HostileSessions: BenchAttack.Running {
    private let progress = Monitor(AttackProgress(["hostileOffers", "hostileOffersTaken"]))
    private static let identities = 64

    init(_ link: Link) {
        for number in 0..<Self.identities {
            Task { [progress] in await Self.attack(link, from: "127.1.3.\(number + 1)", progress) }
        }
    }

    var figures: [(String, Int)] { progress.with { $0.counts } }
    func stop() { progress.change { $0.isOver = true } }

    private static func attack(_ link: Link, from address: String, _ progress: Monitor<AttackProgress>) async {
        while goesOn(progress) {
            guard let identity = try? Identity.ephemeral(), let client = try? client(link, address) else { return }
            if let ticket = try? await client.knock(name: "hostile", identity: identity),
                case .accepted(let token, _)? = try? await client.waitForAnswer(ticket)
            {
                // Each token gets a few sessions; another client may have more.
                for _ in 0..<8 where goesOn(progress) {
                    guard let next = try? Self.client(link, address) else { break }
                    progress.change { $0.add(0) }
                    if (try? await next.offer(offer(identity), token: token)) != nil { progress.change { $0.add(1) } }
                    await next.close()
                }
            } else {
                try? await Task.sleep(for: .milliseconds(100))
            }
            await client.close()
        }
    }

    private static func goesOn(_ progress: Monitor<AttackProgress>) -> Bool {
        progress.with { !$0.isOver && $0.counts[0].1 < BenchAttack.sessionCount }
    }

    private static func client(_ link: Link, _ address: String) throws -> SignalingClient {
        var configuration = SignalingClient.Configuration()
        configuration.sharesThreads = true
        configuration.localAddress = address
        return try SignalingClient(link: link, configuration: configuration)
    }

    private static func offer(_ identity: Identity) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let fingerprint = identity.fingerprint.map {
            String(decoding: [digits[Int($0 >> 4)], digits[Int($0 & 15)]], as: UTF8.self)
        }.joined(separator: ":")
        return [
            "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0", "m=video 9 UDP/TLS/RTP/SAVPF 96",
            "c=IN IP4 0.0.0.0", "a=mid:0", "a=recvonly", "a=rtcp-mux", "a=rtpmap:96 VP8/90000", "a=setup:actpass",
            "a=ice-ufrag:hostile1", "a=ice-pwd:pppppppppppppppppppppppp", "a=fingerprint:sha-256 \(fingerprint)",
            "a=candidate:1 1 udp 2130706431 127.1.3.1 9 typ host", "",
        ].joined(separator: "\r\n")
    }
}
