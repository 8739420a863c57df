/// Offers of programs that send by WHIP (RFC 9725): one sendonly audio and one sendonly video section.
/// The file is long, as it is recorded text.
public enum SendingOffers {
    /// Recorded from Chromium 156, `bundlePolicy: "max-bundle"`.
    public static let chromium = """
        v=0
        o=- 2027431044397031210 2 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=extmap-allow-mixed
        a=msid-semantic: WMS de3d8baa-840f-4bbb-878c-e7e596e76652
        m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=ice-ufrag:B+Qy
        a=ice-pwd:fyiI9krgjyyZTiOYwTpr56Pn
        a=ice-options:trickle
        a=fingerprint:sha-256 40:5B:6D:3A:1F:00:20:62:AE:A8:22:26:81:7A:AC:D7:29:F6:4F:34:92:0F:D2:6F:29:5C:9C:D7:70:CE:2A:A9
        a=setup:actpass
        a=mid:0
        a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
        a=sendonly
        a=msid:de3d8baa-840f-4bbb-878c-e7e596e76652 90eebf51-8e9d-467d-8ca2-df52fdbceef8
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
        a=ssrc:1560964146 cname:SPBnzBaBI6zBWW+Q
        a=ssrc:1560964146 msid:de3d8baa-840f-4bbb-878c-e7e596e76652 90eebf51-8e9d-467d-8ca2-df52fdbceef8
        m=video 9 UDP/TLS/RTP/SAVPF 96 97 102 103 104 107 108 109 114 115 116 117 39 40 45 46 98 99 100 101 118 119 120
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=ice-ufrag:B+Qy
        a=ice-pwd:fyiI9krgjyyZTiOYwTpr56Pn
        a=ice-options:trickle
        a=fingerprint:sha-256 40:5B:6D:3A:1F:00:20:62:AE:A8:22:26:81:7A:AC:D7:29:F6:4F:34:92:0F:D2:6F:29:5C:9C:D7:70:CE:2A:A9
        a=setup:actpass
        a=mid:1
        a=extmap:14 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:13 urn:3gpp:video-orientation
        a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
        a=extmap:6 http://www.webrtc.org/experiments/rtp-hdrext/video-content-type
        a=extmap:7 http://www.webrtc.org/experiments/rtp-hdrext/video-timing
        a=extmap:8 http://www.webrtc.org/experiments/rtp-hdrext/color-space
        a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id
        a=extmap:11 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id
        a=sendonly
        a=msid:de3d8baa-840f-4bbb-878c-e7e596e76652 5a4000db-3858-49f2-ae0a-d5b771802c09
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
        a=rtpmap:45 AV1/90000
        a=rtcp-fb:45 goog-remb
        a=rtcp-fb:45 transport-cc
        a=rtcp-fb:45 ccm fir
        a=rtcp-fb:45 nack
        a=rtcp-fb:45 nack pli
        a=fmtp:45 level-idx=5;profile=0;tier=0
        a=rtpmap:46 rtx/90000
        a=fmtp:46 apt=45
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
        a=rtpmap:118 red/90000
        a=rtpmap:119 rtx/90000
        a=fmtp:119 apt=118
        a=rtpmap:120 ulpfec/90000
        a=ssrc-group:FID 100208269 2854924165
        a=ssrc:100208269 cname:SPBnzBaBI6zBWW+Q
        a=ssrc:100208269 msid:de3d8baa-840f-4bbb-878c-e7e596e76652 5a4000db-3858-49f2-ae0a-d5b771802c09
        a=ssrc:2854924165 cname:SPBnzBaBI6zBWW+Q
        a=ssrc:2854924165 msid:de3d8baa-840f-4bbb-878c-e7e596e76652 5a4000db-3858-49f2-ae0a-d5b771802c09

        """

    /// The same with two encodings (`sendEncodings`): RFC 8853.
    public static let chromiumSimulcast = """
        v=0
        o=- 6338139933268503943 2 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=extmap-allow-mixed
        a=msid-semantic: WMS e8de0e8a-13dc-4901-9cc0-2c26ec9e4aef
        m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=ice-ufrag:fL0y
        a=ice-pwd:joGsdYq95Z9gVBNmokYuyvYw
        a=ice-options:trickle
        a=fingerprint:sha-256 75:98:F1:E9:CD:94:90:A9:16:70:2E:FD:45:40:94:65:DA:32:41:44:D8:FF:30:06:2B:38:6E:02:F2:B1:D4:AF
        a=setup:actpass
        a=mid:0
        a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
        a=sendonly
        a=msid:e8de0e8a-13dc-4901-9cc0-2c26ec9e4aef 104721e7-cc69-417d-ae04-208d609ddc9c
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
        a=ssrc:1108290577 cname:0wYipP6P/k5xc9t5
        a=ssrc:1108290577 msid:e8de0e8a-13dc-4901-9cc0-2c26ec9e4aef 104721e7-cc69-417d-ae04-208d609ddc9c
        m=video 9 UDP/TLS/RTP/SAVPF 96 97 102 103 104 107 108 109 114 115 116 117 39 40 45 46 98 99 100 101 118 119 120
        c=IN IP4 0.0.0.0
        a=rtcp:9 IN IP4 0.0.0.0
        a=ice-ufrag:fL0y
        a=ice-pwd:joGsdYq95Z9gVBNmokYuyvYw
        a=ice-options:trickle
        a=fingerprint:sha-256 75:98:F1:E9:CD:94:90:A9:16:70:2E:FD:45:40:94:65:DA:32:41:44:D8:FF:30:06:2B:38:6E:02:F2:B1:D4:AF
        a=setup:actpass
        a=mid:1
        a=extmap:14 urn:ietf:params:rtp-hdrext:toffset
        a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
        a=extmap:13 urn:3gpp:video-orientation
        a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
        a=extmap:6 http://www.webrtc.org/experiments/rtp-hdrext/video-content-type
        a=extmap:7 http://www.webrtc.org/experiments/rtp-hdrext/video-timing
        a=extmap:8 http://www.webrtc.org/experiments/rtp-hdrext/color-space
        a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id
        a=extmap:11 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id
        a=extmap:12 https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension
        a=extmap:9 http://www.webrtc.org/experiments/rtp-hdrext/video-layers-allocation00
        a=sendonly
        a=msid:e8de0e8a-13dc-4901-9cc0-2c26ec9e4aef e8f8b802-d87a-492e-98ad-55c473235d1f
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
        a=rtpmap:45 AV1/90000
        a=rtcp-fb:45 goog-remb
        a=rtcp-fb:45 transport-cc
        a=rtcp-fb:45 ccm fir
        a=rtcp-fb:45 nack
        a=rtcp-fb:45 nack pli
        a=fmtp:45 level-idx=5;profile=0;tier=0
        a=rtpmap:46 rtx/90000
        a=fmtp:46 apt=45
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
        a=rtpmap:118 red/90000
        a=rtpmap:119 rtx/90000
        a=fmtp:119 apt=118
        a=rtpmap:120 ulpfec/90000
        a=rid:h send
        a=rid:l send
        a=simulcast:send h;l

        """

    /// Recorded from Firefox ESR 153.
    public static let firefox = """
        v=0
        o=mozilla...THIS_IS_SDPARTA-99.0 8077091540116578830 0 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=fingerprint:sha-256 77:B6:CA:6D:10:CD:CC:0B:0D:45:E2:20:4B:64:FE:A5:97:18:62:1F:8B:1B:44:D5:D1:EA:91:78:0E:DC:29:22
        a=group:BUNDLE 0 1
        a=ice-options:trickle
        a=msid-semantic:WMS *
        m=audio 9 UDP/TLS/RTP/SAVPF 109 9 0 8 101
        c=IN IP4 0.0.0.0
        a=sendonly
        a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
        a=extmap:2/recvonly urn:ietf:params:rtp-hdrext:csrc-audio-level
        a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid
        a=extmap:7 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
        a=extmap-allow-mixed
        a=fmtp:109 maxplaybackrate=48000;stereo=1;useinbandfec=1
        a=fmtp:101 0-15
        a=ice-pwd:e44ff38ea69de74e504dd4409f31e5dd
        a=ice-ufrag:72d4308f
        a=mid:0
        a=msid:{53f9e411-24b9-419b-acf2-db11320fd1cb} {2f62915f-a1f9-496c-9404-3d2de43673a2}
        a=rtcp-fb:109 transport-cc
        a=rtcp-fb:9 transport-cc
        a=rtcp-fb:0 transport-cc
        a=rtcp-fb:8 transport-cc
        a=rtcp-mux
        a=rtpmap:109 opus/48000/2
        a=rtpmap:9 G722/8000/1
        a=rtpmap:0 PCMU/8000
        a=rtpmap:8 PCMA/8000
        a=rtpmap:101 telephone-event/8000/1
        a=setup:actpass
        a=ssrc:1432958220 cname:{64c5f0c3-9a54-4d6c-b8d2-91a7992ee101}
        m=video 0 UDP/TLS/RTP/SAVPF 120 124 121 125 99 100 123 122 119
        c=IN IP4 0.0.0.0
        a=bundle-only
        a=sendonly
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
        a=ice-pwd:e44ff38ea69de74e504dd4409f31e5dd
        a=ice-ufrag:72d4308f
        a=mid:1
        a=msid:{53f9e411-24b9-419b-acf2-db11320fd1cb} {79a9f63d-07ab-4add-8b64-c98ff0eca541}
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
        a=ssrc:501837014 cname:{64c5f0c3-9a54-4d6c-b8d2-91a7992ee101}
        a=ssrc:2680401871 cname:{64c5f0c3-9a54-4d6c-b8d2-91a7992ee101}
        a=ssrc-group:FID 501837014 2680401871

        """

    /// OBS 30, written after the source of libdatachannel 0.20: ICE and DTLS at session level, no candidates, H.264, no
    /// RTX.
    public static let obs = """
        v=0
        o=rtc 2853047186 0 IN IP4 127.0.0.1
        s=-
        t=0 0
        a=group:BUNDLE 0 1
        a=group:LS 0 1
        a=msid-semantic:WMS *
        a=setup:actpass
        a=ice-ufrag:Vw3t
        a=ice-pwd:z8QyYkD1m6lqh0uT3cRrN5
        a=ice-options:ice2,trickle
        a=fingerprint:sha-256 5C:7A:0E:94:0B:3F:11:DA:62:B9:48:C5:2E:8D:77:F0:1C:A3:5F:66:D9:04:EB:38:90:4D:B1:2A:6E:C7:53:F8
        m=audio 9 UDP/TLS/RTP/SAVPF 111
        c=IN IP4 0.0.0.0
        a=mid:0
        a=sendonly
        a=ssrc:2107331849 cname:Jm4tWq0y
        a=ssrc:2107331849 msid:Tz7RkP2c Tz7RkP2c-audio
        a=rtcp-mux
        a=rtpmap:111 opus/48000/2
        a=fmtp:111 minptime=10;maxaveragebitrate=96000;stereo=1;sprop-stereo=1;useinbandfec=1
        m=video 9 UDP/TLS/RTP/SAVPF 96
        c=IN IP4 0.0.0.0
        a=mid:1
        a=sendonly
        a=ssrc:2107331850 cname:Jm4tWq0y
        a=ssrc:2107331850 msid:Tz7RkP2c Tz7RkP2c-video
        a=rtcp-mux
        a=rtpmap:96 H264/90000
        a=rtcp-fb:96 nack
        a=rtcp-fb:96 nack pli
        a=rtcp-fb:96 goog-remb
        a=fmtp:96 profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1

        """

    /// whipsink with `max-bundle`, written after the output of webrtcbin 1.22: the second section has port 0 and
    /// `bundle-only`.
    public static let gstreamer = """
        v=0
        o=- 6102834519083921147 0 IN IP4 0.0.0.0
        s=-
        t=0 0
        a=ice-options:trickle
        a=group:BUNDLE video0 audio1
        m=video 9 UDP/TLS/RTP/SAVPF 96
        c=IN IP4 0.0.0.0
        a=setup:actpass
        a=ice-ufrag:mpH8pXc7zS0yY3Zk2rWfJ5uQn1eLd4oB
        a=ice-pwd:C2bT9kLx6vRj1nQwE4mZ8aYsD7uHf0pG
        a=rtcp-mux
        a=rtcp-rsize
        a=sendonly
        a=rtpmap:96 VP8/90000
        a=rtcp-fb:96 nack pli
        a=framerate:30
        a=ssrc:1347582910 msid:user1847362910@host-5b2c7e1f webrtctransceiver0
        a=ssrc:1347582910 cname:user1847362910@host-5b2c7e1f
        a=mid:video0
        a=fingerprint:sha-256 A1:0C:6B:38:E7:52:9F:D4:1B:86:30:CA:77:05:EE:49:B2:8D:14:F3:60:9A:2C:C8:57:D1:3E:A4:0F:7B:92:65
        a=rtcp-mux-only
        m=audio 0 UDP/TLS/RTP/SAVPF 97
        c=IN IP4 0.0.0.0
        a=setup:actpass
        a=ice-ufrag:mpH8pXc7zS0yY3Zk2rWfJ5uQn1eLd4oB
        a=ice-pwd:C2bT9kLx6vRj1nQwE4mZ8aYsD7uHf0pG
        a=bundle-only
        a=rtcp-mux
        a=rtcp-rsize
        a=sendonly
        a=rtpmap:97 OPUS/48000/2
        a=fmtp:97 sprop-maxcapturerate=48000;sprop-stereo=1
        a=ssrc:2749105836 msid:user1847362910@host-5b2c7e1f webrtctransceiver1
        a=ssrc:2749105836 cname:user1847362910@host-5b2c7e1f
        a=mid:audio1
        a=fingerprint:sha-256 A1:0C:6B:38:E7:52:9F:D4:1B:86:30:CA:77:05:EE:49:B2:8D:14:F3:60:9A:2C:C8:57:D1:3E:A4:0F:7B:92:65
        a=rtcp-mux-only

        """

    /// In the order and with the values of FFmpeg 8's WHIP muxer: it is the DTLS server, and has neither feedback nor
    /// header extensions.
    public static let ffmpeg = """
        v=0
        o=FFmpeg 4489045141692799359 2 IN IP4 127.0.0.1
        s=FFmpegPublishSession
        t=0 0
        a=group:BUNDLE 0 1
        a=extmap-allow-mixed
        a=msid-semantic: WMS
        m=audio 9 UDP/TLS/RTP/SAVPF 111
        c=IN IP4 0.0.0.0
        a=ice-ufrag:9c41d07b
        a=ice-pwd:5be2a017c9604fd38a1750eb42d6903f
        a=fingerprint:sha-256 3D:90:17:6B:E2:0A:54:C8:FE:31:7D:86:29:B3:4F:05:DA:68:91:2C:E7:70:1B:A4:5E:C3:08:F6:92:4D:3A:B1
        a=setup:passive
        a=mid:0
        a=sendonly
        a=msid:FFmpeg audio
        a=rtcp-mux
        a=rtpmap:111 opus/48000/2
        a=ssrc:3471905822 cname:FFmpeg
        a=ssrc:3471905822 msid:FFmpeg audio
        m=video 9 UDP/TLS/RTP/SAVPF 106
        c=IN IP4 0.0.0.0
        a=ice-ufrag:9c41d07b
        a=ice-pwd:5be2a017c9604fd38a1750eb42d6903f
        a=fingerprint:sha-256 3D:90:17:6B:E2:0A:54:C8:FE:31:7D:86:29:B3:4F:05:DA:68:91:2C:E7:70:1B:A4:5E:C3:08:F6:92:4D:3A:B1
        a=setup:passive
        a=mid:1
        a=sendonly
        a=msid:FFmpeg video
        a=rtcp-mux
        a=rtcp-rsize
        a=rtpmap:106 H264/90000
        a=fmtp:106 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42c01f
        a=ssrc:1204876593 cname:FFmpeg
        a=ssrc:1204876593 msid:FFmpeg video

        """

    public static let all = [chromium, chromiumSimulcast, firefox, obs, gstreamer, ffmpeg]
}
