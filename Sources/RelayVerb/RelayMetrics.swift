import CommandSupport
import LinuxRuntime
package import MediaCore
import PeerConnection
package import Relay
import Signaling

/// The statistics of a relay in Prometheus's text format (exposition format 0.0.4).
package struct RelayMetrics {
    private(set) var text = ""

    /// - Parameters:
    ///   - expiry: of the certificate for HTTPS, in seconds since 1970; nil: the relay's own, which is pinned.
    ///   - isClusterConnected: nil: there is no cluster.
    package init(
        _ statistics: RelayStatistics, uptime: MediaDuration, expiry: Int? = nil, isClusterConnected: Bool? = nil
    ) {
        let broadcasts = statistics.broadcasts
        add("share_relay_uptime_seconds", "Time since the start.", isCounter: false, uptime.inSeconds)
        add(
            "share_relay_draining", "1 if nobody is taken in any more.", isCounter: false, statistics.isDraining ? 1 : 0
        )
        add("share_relay_broadcasts", "Broadcasts that run.", isCounter: false, Double(broadcasts.count))
        add("share_relay_viewers", "Viewers of all broadcasts.", isCounter: false, sum(broadcasts) { $0.viewers })
        add(
            "share_relay_meetings", "Hosts and services with a reverse tunnel.", isCounter: false,
            Double(statistics.tunnels))
        if let cluster = statistics.cluster {
            add(
                "share_cluster_connected", "1 if a NATS server is connected.", isCounter: false,
                isClusterConnected == true ? 1 : 0)
            add("share_cluster_relays", "Other relays that are heard.", isCounter: false, Double(cluster.relays))
            add(
                "share_cluster_fetched_broadcasts", "Broadcasts that come from other relays.", isCounter: false,
                Double(cluster.fetched))
        }
        add("process_cpu_seconds_total", "CPU time of the process.", ProcessFigures().cpuSeconds)
        add(
            "process_resident_memory_bytes", "Memory of the process.", isCounter: false,
            Double(ProcessFigures().residentBytes))
        add("process_open_fds", "Open file descriptors.", isCounter: false, Double(FileDescriptors.open ?? 0))
        if let expiry {
            add(
                "share_relay_certificate_expiry_timestamp_seconds", "When the certificate for HTTPS expires.",
                isCounter: false, Double(expiry))
        }
        addBroadcasts(broadcasts)
        addDelays(broadcasts)
        let media = statistics.mediaPort
        add("share_media_datagrams_total", "Datagrams that came to the UDP port.", Double(media.datagrams))
        add(
            "share_media_refused_total", "Datagrams of strangers, and STUN requests that are not authentic.",
            Double(media.refusedRequests + media.strangers))
        add(
            "share_stun_responses_total", "Strangers that were told their public address.",
            Double(media.bindingResponses))
        let signaling = statistics.signaling
        add("share_https_requests_total", "Requests.", Double(signaling.requests))
        add("share_https_connections_total", "Connections.", Double(signaling.connections.accepted))
        add(
            "share_https_refused_total", "Connections and requests over a limit.",
            Double(signaling.connections.refused + signaling.connections.displaced + signaling.requestsLimited))
        add("share_knocks_total", "Viewers that knocked.", Double(signaling.knocks.requests))
        add("share_pairings_total", "Publishers that asked to pair.", Double(signaling.pairings.requests))
        add(
            "share_wrong_secrets_total", "Wrong proofs, tokens and certificates.",
            Double(
                signaling.refusals.wrongProofs + signaling.refusals.wrongTokens + signaling.refusals.wrongFingerprints))
    }

    private mutating func addBroadcasts(_ all: [RelayStatistics.Broadcast]) {
        let gauges: [(String, String, (RelayStatistics.Broadcast) -> Int)] = [
            ("viewers", "Viewers, without other relays.", { $0.viewers }),
            ("relays", "Other relays that get it from here.", { $0.relays }),
            ("connected_viewers", "Viewers and relays with media flowing.", { $0.connected }),
        ]
        let counters: [(String, String, (RelayStatistics.Broadcast) -> Int)] = [
            ("received_packets_total", "RTP packets of the publisher.", { $0.packetsReceived }),
            ("received_bytes_total", "Bytes of them.", { $0.bytesReceived }),
            ("received_lost_packets_total", "Packets of the publisher that were lost on the way.", { $0.packetsLost }),
            ("sent_packets_total", "RTP packets to viewers.", { $0.packetsSent }),
            ("sent_bytes_total", "Bytes of them.", { $0.bytesSent }),
            ("retransmissions_total", "Of those, packets that were sent again.", { $0.retransmissions }),
            ("keyframe_requests_total", "Requests of viewers.", { $0.keyframeRequests }),
            ("bad_packets_total", "Packets that were malformed or not authentic.", { $0.badPackets }),
        ]
        for (list, kind) in [(gauges, "gauge"), (counters, "counter")] {
            for (name, help, value) in list where !all.isEmpty {
                let name = "share_broadcast_" + name
                text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n"
                for broadcast in all { text += "\(name){\(labels(broadcast))} \(value(broadcast))\n" }
            }
        }
    }

    private mutating func addDelays(_ all: [RelayStatistics.Broadcast]) {
        let name = Self.delays
        guard !all.isEmpty else { return }
        text += "# HELP \(name) Time of video packets in the relay.\n# TYPE \(name) histogram\n"
        for broadcast in all {
            let delays = broadcast.delays
            var count = 0
            for range in 0..<DelayHistogram.limited {
                count += delays.counts[range]
                let limit = DelayHistogram.limit(range).inSeconds
                text += "\(name)_bucket{\(labels(broadcast)),le=\"\(limit)\"} \(count)\n"
            }
            text += "\(name)_bucket{\(labels(broadcast)),le=\"+Inf\"} \(delays.count)\n"
            text += "\(name)_sum{\(labels(broadcast))} \(delays.sum.inSeconds)\n"
            text += "\(name)_count{\(labels(broadcast))} \(delays.count)\n"
        }
    }

    package static let delays = "share_broadcast_forwarding_seconds"

    private func labels(_ broadcast: RelayStatistics.Broadcast) -> String {
        let codec = broadcast.codec.map(\.rawValue) ?? ""
        return "id=\"\(escaped(broadcast.id))\",name=\"\(escaped(broadcast.name))\",codec=\"\(codec)\""
    }

    /// A label's value: a publisher chooses its name. Scalar by scalar, as a quote may be a part of a character.
    private func escaped(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\", "\"":
                result.append("\\")
                result.append(scalar)
            case "\n": result.append(contentsOf: "\\n".unicodeScalars)
            case "\r": break
            default: result.append(scalar)
            }
        }
        return String(result)
    }

    private func sum(_ all: [RelayStatistics.Broadcast], _ value: (RelayStatistics.Broadcast) -> Int) -> Double {
        Double(all.reduce(0) { $0 + value($1) })
    }

    private mutating func add(_ name: String, _ help: String, isCounter: Bool = true, _ value: Double) {
        text +=
            "# HELP \(name) \(help)\n# TYPE \(name) \(isCounter ? "counter" : "gauge")\n\(name) \(Self.number(value))\n"
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() ? String(Int64(value)) : value.text(decimals: 3)
    }
}
