/// Offers recorded from the programs themselves: a recvonly video and one or two recvonly audio sections.
/// The file is long, as it is recorded text.
enum RecordedOffers {
    /// Chromium 156, `bundlePolicy: "max-bundle"`; addresses hidden behind `.local` names.
    static let chromium = """
        v=0
        o=- 7337871680846977361 2 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE 0 1 2
        a=extmap-allow-mixed
        a=msid-semantic: WMS
        m=video 9 UDP/TLS/RTP/SAVPF 96 97 98 99 100 101 35 36 37 38 102 103 104 107 108 109 114 115 116 117 39 40 41 42 43 44 45 46 47 48 118 119 120 49
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=candidate:270980102 1 udp 2113937151 c3d36c67-2b7b-4aba-b4c9-87743dd7d2e6.local 41487 typ host generation 0 network-cost 999
        a=candidate:3678410214 1 udp 2113942271 fde9e706-095c-4d70-9a31-a6d9acd118f4.local 53799 typ host generation 0 network-cost 999
        a=ice-ufrag:Kl0y
        a=ice-pwd:nA++H+PL78v2742Qf9lhVyk1
        a=ice-options:trickle
        a=fingerprint:sha-256 21:B3:D2:0A:1E:54:18:64:20:DF:DC:94:82:51:20:C0:77:44:E3:89:2D:C6:98:A6:7D:B6:EF:22:57:55:A4:5C
        a=setup:actpass
        a=mid:0
        a=extmap:1 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:3 urn:3gpp:video-orientation
        a=extmap:4 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
        a=extmap:6 http://www.webrtc.org/experiments/rtp-hdrext/video-content-type
        a=extmap:7 http://www.webrtc.org/experiments/rtp-hdrext/video-timing
        a=extmap:8 http://www.webrtc.org/experiments/rtp-hdrext/color-space
        a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id
        a=extmap:11 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id
        a=recvonly
        a=rtcp-mux
        a=rtcp-rsize
        a=rtcp-xr:rcvr-rtt=all
        a=rtpmap:96 VP8/90000
        a=rtcp-fb:96 goog-remb
        a=rtcp-fb:96 transport-cc
        a=rtcp-fb:96 ccm fir
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtpmap:97 rtx/90000
        a=fmtp:97 apt=96
        a=rtpmap:98 VP9/90000
        a=rtcp-fb:98 goog-remb
        a=rtcp-fb:98 transport-cc
        a=rtcp-fb:98 ccm fir
        a=rtcp-fb:98 nack
        a=rtcp-fb:98 nack pli
        a=fmtp:98 profile-id=0
        a=rtpmap:99 rtx/90000
        a=fmtp:99 apt=98
        a=rtpmap:100 VP9/90000
        a=rtcp-fb:100 goog-remb
        a=rtcp-fb:100 transport-cc
        a=rtcp-fb:100 ccm fir
        a=rtcp-fb:100 nack
        a=rtcp-fb:100 nack pli
        a=fmtp:100 profile-id=2
        a=rtpmap:101 rtx/90000
        a=fmtp:101 apt=100
        a=rtpmap:35 VP9/90000
        a=rtcp-fb:35 goog-remb
        a=rtcp-fb:35 transport-cc
        a=rtcp-fb:35 ccm fir
        a=rtcp-fb:35 nack
        a=rtcp-fb:35 nack pli
        a=fmtp:35 profile-id=1
        a=rtpmap:36 rtx/90000
        a=fmtp:36 apt=35
        a=rtpmap:37 VP9/90000
        a=rtcp-fb:37 goog-remb
        a=rtcp-fb:37 transport-cc
        a=rtcp-fb:37 ccm fir
        a=rtcp-fb:37 nack
        a=rtcp-fb:37 nack pli
        a=fmtp:37 profile-id=3
        a=rtpmap:38 rtx/90000
        a=fmtp:38 apt=37
        a=rtpmap:102 H264/90000
        a=rtcp-fb:102 goog-remb
        a=rtcp-fb:102 transport-cc
        a=rtcp-fb:102 ccm fir
        a=rtcp-fb:102 nack
        a=rtcp-fb:102 nack pli
        a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
        a=rtpmap:103 rtx/90000
        a=fmtp:103 apt=102
        a=rtpmap:104 H264/90000
        a=rtcp-fb:104 goog-remb
        a=rtcp-fb:104 transport-cc
        a=rtcp-fb:104 ccm fir
        a=rtcp-fb:104 nack
        a=rtcp-fb:104 nack pli
        a=fmtp:104 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42001f
        a=rtpmap:107 rtx/90000
        a=fmtp:107 apt=104
        a=rtpmap:108 H264/90000
        a=rtcp-fb:108 goog-remb
        a=rtcp-fb:108 transport-cc
        a=rtcp-fb:108 ccm fir
        a=rtcp-fb:108 nack
        a=rtcp-fb:108 nack pli
        a=fmtp:108 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:109 rtx/90000
        a=fmtp:109 apt=108
        a=rtpmap:114 H264/90000
        a=rtcp-fb:114 goog-remb
        a=rtcp-fb:114 transport-cc
        a=rtcp-fb:114 ccm fir
        a=rtcp-fb:114 nack
        a=rtcp-fb:114 nack pli
        a=fmtp:114 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f
        a=rtpmap:115 rtx/90000
        a=fmtp:115 apt=114
        a=rtpmap:116 H264/90000
        a=rtcp-fb:116 goog-remb
        a=rtcp-fb:116 transport-cc
        a=rtcp-fb:116 ccm fir
        a=rtcp-fb:116 nack
        a=rtcp-fb:116 nack pli
        a=fmtp:116 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=4d001f
        a=rtpmap:117 rtx/90000
        a=fmtp:117 apt=116
        a=rtpmap:39 H264/90000
        a=rtcp-fb:39 goog-remb
        a=rtcp-fb:39 transport-cc
        a=rtcp-fb:39 ccm fir
        a=rtcp-fb:39 nack
        a=rtcp-fb:39 nack pli
        a=fmtp:39 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=4d001f
        a=rtpmap:40 rtx/90000
        a=fmtp:40 apt=39
        a=rtpmap:41 H264/90000
        a=rtcp-fb:41 goog-remb
        a=rtcp-fb:41 transport-cc
        a=rtcp-fb:41 ccm fir
        a=rtcp-fb:41 nack
        a=rtcp-fb:41 nack pli
        a=fmtp:41 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=f4001f
        a=rtpmap:42 rtx/90000
        a=fmtp:42 apt=41
        a=rtpmap:43 H264/90000
        a=rtcp-fb:43 goog-remb
        a=rtcp-fb:43 transport-cc
        a=rtcp-fb:43 ccm fir
        a=rtcp-fb:43 nack
        a=rtcp-fb:43 nack pli
        a=fmtp:43 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=f4001f
        a=rtpmap:44 rtx/90000
        a=fmtp:44 apt=43
        a=rtpmap:45 AV1/90000
        a=rtcp-fb:45 goog-remb
        a=rtcp-fb:45 transport-cc
        a=rtcp-fb:45 ccm fir
        a=rtcp-fb:45 nack
        a=rtcp-fb:45 nack pli
        a=fmtp:45 level-idx=5;profile=0;tier=0
        a=rtpmap:46 rtx/90000
        a=fmtp:46 apt=45
        a=rtpmap:47 AV1/90000
        a=rtcp-fb:47 goog-remb
        a=rtcp-fb:47 transport-cc
        a=rtcp-fb:47 ccm fir
        a=rtcp-fb:47 nack
        a=rtcp-fb:47 nack pli
        a=fmtp:47 level-idx=5;profile=1;tier=0
        a=rtpmap:48 rtx/90000
        a=fmtp:48 apt=47
        a=rtpmap:118 red/90000
        a=rtpmap:119 rtx/90000
        a=fmtp:119 apt=118
        a=rtpmap:120 ulpfec/90000
        a=rtpmap:49 flexfec-03/90000
        a=rtcp-fb:49 goog-remb
        a=rtcp-fb:49 transport-cc
        a=fmtp:49 repair-window=10000000
        m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=ice-ufrag:Kl0y
        a=ice-pwd:nA++H+PL78v2742Qf9lhVyk1
        a=ice-options:trickle
        a=fingerprint:sha-256 21:B3:D2:0A:1E:54:18:64:20:DF:DC:94:82:51:20:C0:77:44:E3:89:2D:C6:98:A6:7D:B6:EF:22:57:55:A4:5C
        a=setup:actpass
        a=mid:1
        a=extmap:14 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:4 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid
        a=recvonly
        a=rtcp-mux
        a=rtcp-rsize
        a=rtcp-xr:rcvr-rtt=all
        a=rtpmap:111 opus/48000/2
        a=rtcp-fb:111 transport-cc
        a=fmtp:111 minptime=10;useinbandfec=1
        a=rtpmap:63 red/48000/2
        a=fmtp:63 111/111
        a=rtpmap:9 G722/8000
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=rtpmap:13 CN/8000
        a=rtpmap:110 telephone-event/48000
        a=rtpmap:126 telephone-event/8000
        m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=ice-ufrag:Kl0y
        a=ice-pwd:nA++H+PL78v2742Qf9lhVyk1
        a=ice-options:trickle
        a=fingerprint:sha-256 21:B3:D2:0A:1E:54:18:64:20:DF:DC:94:82:51:20:C0:77:44:E3:89:2D:C6:98:A6:7D:B6:EF:22:57:55:A4:5C
        a=setup:actpass
        a=mid:2
        a=extmap:14 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:4 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid
        a=recvonly
        a=rtcp-mux
        a=rtcp-rsize
        a=rtcp-xr:rcvr-rtt=all
        a=rtpmap:111 opus/48000/2
        a=rtcp-fb:111 transport-cc
        a=fmtp:111 minptime=10;useinbandfec=1
        a=rtpmap:63 red/48000/2
        a=fmtp:63 111/111
        a=rtpmap:9 G722/8000
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=rtpmap:13 CN/8000
        a=rtpmap:110 telephone-event/48000
        a=rtpmap:126 telephone-event/8000
        """

    /// Firefox ESR 153: fingerprint at session level, `UDP` and `TCP` candidates of two components, `bundle-only` with
    /// port 0.
    static let firefox = """
        v=0
        o=mozilla...THIS_IS_SDPARTA-99.0 6232100993552311999 0 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=sendrecv
        a=fingerprint:sha-256 EB:72:7C:B2:05:AC:EC:74:5A:8C:87:2F:39:DF:4B:AF:05:96:FF:C4:EB:F1:45:64:AC:69:BB:7F:14:6A:B4:7E
        a=group:BUNDLE 0 1 2
        a=ice-options:trickle
        a=msid-semantic:WMS *
        m=video 9 UDP/TLS/RTP/SAVPF 120 124 121 125 99 100 123 122 119
        c=IN IP4 0.0.0.0
        a=candidate:0 1 UDP 2122187007 390c451c-1022-42eb-b968-5f86e06e46c7.local 42769 typ host
        a=candidate:1 1 UDP 2122252543 5e05d2d9-26ed-4788-8dfb-1a57f4d7d6f2.local 56392 typ host
        a=candidate:2 1 TCP 2105458943 390c451c-1022-42eb-b968-5f86e06e46c7.local 9 typ host tcptype active
        a=candidate:3 1 TCP 2105524479 5e05d2d9-26ed-4788-8dfb-1a57f4d7d6f2.local 9 typ host tcptype active
        a=candidate:0 2 UDP 2122187006 390c451c-1022-42eb-b968-5f86e06e46c7.local 51950 typ host
        a=candidate:1 2 UDP 2122252542 5e05d2d9-26ed-4788-8dfb-1a57f4d7d6f2.local 40391 typ host
        a=candidate:2 2 TCP 2105458942 390c451c-1022-42eb-b968-5f86e06e46c7.local 9 typ host tcptype active
        a=candidate:3 2 TCP 2105524478 5e05d2d9-26ed-4788-8dfb-1a57f4d7d6f2.local 9 typ host tcptype active
        a=recvonly
        a=end-of-candidates
        a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:4 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:5 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:6/recvonly http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
        a=extmap:7 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap-allow-mixed
        a=fmtp:120 max-fs=12288;max-fr=60
        a=fmtp:124 apt=120
        a=fmtp:121 max-fs=12288;max-fr=60
        a=fmtp:125 apt=121
        a=fmtp:100 apt=99
        a=fmtp:119 apt=122
        a=ice-pwd:697080c671dbc7e3993905911b493070
        a=ice-ufrag:e38b4ee0
        a=mid:0
        a=rtcp:51950 IN IP4 390c451c-1022-42eb-b968-5f86e06e46c7.local
        a=rtcp-fb:120 nack
        a=rtcp-fb:120 nack pli
        a=rtcp-fb:120 ccm fir
        a=rtcp-fb:120 goog-remb
        a=rtcp-fb:120 transport-cc
        a=rtcp-fb:121 nack
        a=rtcp-fb:121 nack pli
        a=rtcp-fb:121 ccm fir
        a=rtcp-fb:121 goog-remb
        a=rtcp-fb:121 transport-cc
        a=rtcp-fb:99 nack
        a=rtcp-fb:99 nack pli
        a=rtcp-fb:99 ccm fir
        a=rtcp-fb:99 goog-remb
        a=rtcp-fb:99 transport-cc
        a=rtcp-fb:123 nack
        a=rtcp-fb:123 nack pli
        a=rtcp-fb:123 ccm fir
        a=rtcp-fb:123 goog-remb
        a=rtcp-fb:123 transport-cc
        a=rtcp-fb:122 nack
        a=rtcp-fb:122 nack pli
        a=rtcp-fb:122 ccm fir
        a=rtcp-fb:122 goog-remb
        a=rtcp-fb:122 transport-cc
        a=rtcp-mux
        a=rtcp-rsize
        a=rtpmap:120 VP8/90000
        a=rtpmap:124 rtx/90000
        a=rtpmap:121 VP9/90000
        a=rtpmap:125 rtx/90000
        a=rtpmap:99 AV1/90000
        a=rtpmap:100 rtx/90000
        a=rtpmap:123 ulpfec/90000
        a=rtpmap:122 red/90000
        a=rtpmap:119 rtx/90000
        a=setup:actpass
        a=ssrc:1647233635 cname:{b7900bd1-0225-4e3a-a0fa-c394acbf45a3}
        m=audio 0 UDP/TLS/RTP/SAVPF 109 9 0 8 101
        c=IN IP4 0.0.0.0
        a=bundle-only
        a=recvonly
        a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:2/recvonly urn:ietf:params:rtp-hdrext:csrc-audio-level
        a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:7 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap-allow-mixed
        a=fmtp:109 maxplaybackrate=48000;stereo=1;useinbandfec=1
        a=fmtp:101 0-15
        a=ice-pwd:697080c671dbc7e3993905911b493070
        a=ice-ufrag:e38b4ee0
        a=mid:1
        a=rtcp-fb:109 transport-cc
        a=rtcp-fb:9 transport-cc
        a=rtcp-fb:0 transport-cc
        a=rtcp-fb:8 transport-cc
        a=rtcp-mux
        a=rtpmap:109 opus/48000/2
        a=rtpmap:9 G722/8000/1
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=rtpmap:101 telephone-event/8000
        a=setup:actpass
        a=ssrc:720657047 cname:{b7900bd1-0225-4e3a-a0fa-c394acbf45a3}
        m=audio 0 UDP/TLS/RTP/SAVPF 109 9 0 8 101
        c=IN IP4 0.0.0.0
        a=bundle-only
        a=recvonly
        a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:2/recvonly urn:ietf:params:rtp-hdrext:csrc-audio-level
        a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:7 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap-allow-mixed
        a=fmtp:109 maxplaybackrate=48000;stereo=1;useinbandfec=1
        a=fmtp:101 0-15
        a=ice-pwd:697080c671dbc7e3993905911b493070
        a=ice-ufrag:e38b4ee0
        a=mid:2
        a=rtcp-fb:109 transport-cc
        a=rtcp-fb:9 transport-cc
        a=rtcp-fb:0 transport-cc
        a=rtcp-fb:8 transport-cc
        a=rtcp-mux
        a=rtpmap:109 opus/48000/2
        a=rtpmap:9 G722/8000/1
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=rtpmap:101 telephone-event/8000
        a=setup:actpass
        a=ssrc:797796435 cname:{b7900bd1-0225-4e3a-a0fa-c394acbf45a3}
        """

    /// GStreamer 1.22 webrtcbin, max-bundle, trickling.
    static let gstreamer = """
        v=0
        o=- 6929324168113823401 0 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=ice-options:trickle
        a=group:BUNDLE video0 audio1
        m=video 9 UDP/TLS/RTP/SAVPF 96
        c=IN IP4 0.0.0.0
        a=setup:actpass
        a=ice-ufrag:dZcG+fXW8w9+Ky1lmV3mpUg5j8M27vtU
        a=ice-pwd:g2CJAnaWs8xbKsv58tS4atHStzgVxYvd
        a=rtcp-mux
        a=rtcp-rsize
        a=recvonly
        a=rtpmap:96 VP8/90000
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtcp-fb:96 ccm fir
        a=rtcp-fb:96 transport-cc
        a=mid:video0
        a=fingerprint:sha-256 CC:72:05:56:A2:49:C0:03:C0:BB:2F:86:36:8C:4B:04:AF:33:89:6C:18:65:3D:D1:62:9E:C5:92:8B:EC:12:62
        a=rtcp-mux-only
        m=audio 0 UDP/TLS/RTP/SAVPF 97
        c=IN IP4 0.0.0.0
        a=setup:actpass
        a=ice-ufrag:dZcG+fXW8w9+Ky1lmV3mpUg5j8M27vtU
        a=ice-pwd:g2CJAnaWs8xbKsv58tS4atHStzgVxYvd
        a=bundle-only
        a=rtcp-mux
        a=rtcp-rsize
        a=recvonly
        a=rtpmap:97 OPUS/48000/2
        a=rtcp-fb:97 transport-cc
        a=mid:audio1
        a=fingerprint:sha-256 CC:72:05:56:A2:49:C0:03:C0:BB:2F:86:36:8C:4B:04:AF:33:89:6C:18:65:3D:D1:62:9E:C5:92:8B:EC:12:62
        a=rtcp-mux-only
        """

    /// aiortc: three fingerprints, no transport-wide feedback, candidates for each section.
    static let aiortc = """
        v=0
        o=- 4004243828 4004243828 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=msid-semantic:WMS *
        m=video 35571 UDP/TLS/RTP/SAVPF 97 98 99 100 101 102
        c=IN IP4 192.0.2.2
        a=recvonly
        a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:3 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=mid:0
        a=msid:94006552-c502-4798-8837-f142ac323eab 3e8e8800-a29f-4807-b63d-e85b6f334f21
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc-group:FID 2898698715 2368922396
        a=ssrc:2898698715 cname:10e9776c-918c-43cd-bd6d-1faa12b95adb
        a=ssrc:2368922396 cname:10e9776c-918c-43cd-bd6d-1faa12b95adb
        a=rtpmap:97 VP8/90000
        a=rtcp-fb:97 nack
        a=rtcp-fb:97 nack pli
        a=rtcp-fb:97 goog-remb
        a=rtpmap:98 rtx/90000
        a=fmtp:98 apt=97
        a=rtpmap:99 H264/90000
        a=rtcp-fb:99 nack
        a=rtcp-fb:99 nack pli
        a=rtcp-fb:99 goog-remb
        a=fmtp:99 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
        a=rtpmap:100 rtx/90000
        a=fmtp:100 apt=99
        a=rtpmap:101 H264/90000
        a=rtcp-fb:101 nack
        a=rtcp-fb:101 nack pli
        a=rtcp-fb:101 goog-remb
        a=fmtp:101 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
        a=rtpmap:102 rtx/90000
        a=fmtp:102 apt=101
        a=candidate:f957a2332b1715da3b0ef8ba684454eb 1 udp 2130706431 192.0.2.2 35571 typ host
        a=candidate:d0bcf3d9c29a2bc887618212a1623bfa 1 udp 2130706431 fd00::2 35393 typ host
        a=end-of-candidates
        a=ice-ufrag:8E7H
        a=ice-pwd:MjrdYiJh46n1RZH4Mercnk
        a=fingerprint:sha-256 21:F5:8A:26:81:EA:2B:1A:78:C7:AD:23:B2:A4:D4:27:62:B8:E3:41:07:7D:73:BF:EE:4F:64:74:22:BD:BD:F2
        a=fingerprint:sha-384 2B:80:F4:50:2A:ED:58:5D:ED:D3:BA:BE:BF:D1:52:E3:5C:7A:8C:EE:86:45:C7:9D:14:F0:71:67:EC:7E:31:D5:35:58:07:49:40:E5:0F:6F:29:DB:7E:E7:71:94:D1:A8
        a=fingerprint:sha-512 2F:EA:93:96:4B:E6:52:04:D4:4D:B1:08:F6:B6:D6:67:F4:1B:80:3E:2C:B9:39:3E:3F:4A:96:AB:25:E8:06:5C:1F:25:16:4E:55:D8:BC:02:98:9A:9C:EE:4D:8B:8B:86:9C:E1:91:4D:D5:81:82:F7:27:B8:4A:0F:60:3E:06:7F
        a=setup:actpass
        m=audio 38068 UDP/TLS/RTP/SAVPF 96 9 0 8
        c=IN IP4 192.0.2.2
        a=recvonly
        a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:2 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=mid:1
        a=msid:94006552-c502-4798-8837-f142ac323eab 0be74326-6f2e-4074-add8-00e97e5a64db
        a=rtcp:9 IN IP4 0.0.0.0
        a=rtcp-mux
        a=ssrc:574679824 cname:10e9776c-918c-43cd-bd6d-1faa12b95adb
        a=rtpmap:96 opus/48000/2
        a=rtpmap:9 G722/8000
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=candidate:f957a2332b1715da3b0ef8ba684454eb 1 udp 2130706431 192.0.2.2 38068 typ host
        a=candidate:d0bcf3d9c29a2bc887618212a1623bfa 1 udp 2130706431 fd00::2 54899 typ host
        a=end-of-candidates
        a=ice-ufrag:8E7H
        a=ice-pwd:MjrdYiJh46n1RZH4Mercnk
        a=fingerprint:sha-256 21:F5:8A:26:81:EA:2B:1A:78:C7:AD:23:B2:A4:D4:27:62:B8:E3:41:07:7D:73:BF:EE:4F:64:74:22:BD:BD:F2
        a=fingerprint:sha-384 2B:80:F4:50:2A:ED:58:5D:ED:D3:BA:BE:BF:D1:52:E3:5C:7A:8C:EE:86:45:C7:9D:14:F0:71:67:EC:7E:31:D5:35:58:07:49:40:E5:0F:6F:29:DB:7E:E7:71:94:D1:A8
        a=fingerprint:sha-512 2F:EA:93:96:4B:E6:52:04:D4:4D:B1:08:F6:B6:D6:67:F4:1B:80:3E:2C:B9:39:3E:3F:4A:96:AB:25:E8:06:5C:1F:25:16:4E:55:D8:BC:02:98:9A:9C:EE:4D:8B:8B:86:9C:E1:91:4D:D5:81:82:F7:27:B8:4A:0F:60:3E:06:7F
        a=setup:actpass
        """

    static let all = [chromium, firefox, gstreamer, aiortc]
}
