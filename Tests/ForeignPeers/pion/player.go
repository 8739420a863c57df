// A WHEP player made of Pion. Options, files and report: see ../README.md.
// Pion decodes nothing: it writes whole VP8 frames (IVF) and Opus packets.
package main

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtcp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v3"
	"github.com/pion/webrtc/v3/pkg/media/samplebuilder"
)

var (
	endpoint = flag.String("url", "", "")
	token    = flag.String("token", "", "")
	folder   = flag.String("folder", ".", "")
	media    = flag.String("media", "video,audio", "")
	seconds  = flag.Float64("seconds", 4, "")
	skip     = flag.Float64("skip", 0, "")
	noRTX    = flag.Bool("no-rtx", false, "")
	feedback = flag.String("feedback", "default", "default, remb or transport-cc")
	trickle  = flag.Bool("trickle", false, "")
	restart  = flag.Bool("restart", false, "")
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var client = &http.Client{
	Timeout: 10 * time.Second,
	// The host's certificate is its own, and a player with the token has nothing to check it against.
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
}

func ask(method, address, kind, match, body string) (int, http.Header, string) {
	base, err := url.Parse(*endpoint)
	must(err)
	target, err := base.Parse(address)
	must(err)
	request, err := http.NewRequest(method, target.String(), strings.NewReader(body))
	must(err)
	request.Header.Set("Authorization", "Bearer "+*token)
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	if match != "" {
		request.Header.Set("If-Match", match)
	}
	answer, err := client.Do(request)
	must(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(err)
	return answer.StatusCode, answer.Header, string(text)
}

// Counted while `isCounting`; the files hold everything.
type figures struct {
	sync.Mutex
	isCounting                          bool
	frames, keyFrames, plis, nacks      int
	videoPackets, videoMissing, repeats int
	bytes                               int
	restartedBytes                      int
	audioPackets                        []int
	arrivals                            []time.Time
	hasPicture                          bool
	size                                []int
}

var seen figures

func (f *figures) change(body func()) {
	f.Lock()
	defer f.Unlock()
	body()
}

func engine() *webrtc.API {
	codecs := &webrtc.MediaEngine{}
	registry := &interceptor.Registry{}
	if *feedback == "default" && !*noRTX {
		must(codecs.RegisterDefaultCodecs())
	} else {
		kinds := []webrtc.RTCPFeedback{{Type: "ccm", Parameter: "fir"}}
		if *feedback == "remb" {
			kinds = append(kinds, webrtc.RTCPFeedback{Type: "goog-remb"})
		}
		must(codecs.RegisterCodec(webrtc.RTPCodecParameters{
			RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8, ClockRate: 90000, RTCPFeedback: kinds},
			PayloadType:        96,
		}, webrtc.RTPCodecTypeVideo))
		if !*noRTX {
			must(codecs.RegisterCodec(webrtc.RTPCodecParameters{
				RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: "video/rtx", ClockRate: 90000, SDPFmtpLine: "apt=96"},
				PayloadType:        97,
			}, webrtc.RTPCodecTypeVideo))
		}
		must(codecs.RegisterCodec(webrtc.RTPCodecParameters{
			RTPCodecCapability: webrtc.RTPCodecCapability{
				MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2, SDPFmtpLine: "minptime=10;useinbandfec=1"},
			PayloadType: 111,
		}, webrtc.RTPCodecTypeAudio))
	}
	must(webrtc.ConfigureNack(codecs, registry))
	must(webrtc.ConfigureRTCPReports(registry))
	if *feedback != "remb" {
		must(webrtc.ConfigureTWCCSender(codecs, registry))
	}
	registry.Add(&watchFactory{})
	return webrtc.NewAPI(webrtc.WithMediaEngine(codecs), webrtc.WithInterceptorRegistry(registry))
}

// Sees what the other interceptors send.
type watchFactory struct{}

func (*watchFactory) NewInterceptor(string) (interceptor.Interceptor, error) { return &watch{}, nil }

type watch struct{ interceptor.NoOp }

func (*watch) BindRTCPWriter(writer interceptor.RTCPWriter) interceptor.RTCPWriter {
	return interceptor.RTCPWriterFunc(func(packets []rtcp.Packet, attributes interceptor.Attributes) (int, error) {
		seen.change(func() {
			for _, packet := range packets {
				switch packet.(type) {
				case *rtcp.PictureLossIndication:
					seen.plis++
				case *rtcp.TransportLayerNack:
					seen.nacks++
				}
			}
		})
		return writer.Write(packets, attributes)
	})
}

// Which sequence numbers have come, for what is missing in the end and what came twice or late.
type arrivals struct {
	isStarted      bool
	first, highest uint16
	cycles         int
	come           map[int]bool
	last           time.Time
}

func (a *arrivals) add(number uint16) {
	if !a.isStarted {
		a.isStarted, a.first, a.highest, a.come = true, number, number, map[int]bool{}
	}
	extended := a.cycles + int(number)
	if difference := int16(number - a.highest); difference > 0 {
		if number < a.highest {
			a.cycles += 65536
			extended += 65536
		}
		a.highest = number
	} else if difference < 0 {
		seen.repeats++
		if number > a.highest {
			extended -= 65536
		}
	}
	a.come[extended] = true
}

func (a *arrivals) missing() int {
	if !a.isStarted {
		return 0
	}
	return a.cycles + int(a.highest) - int(a.first) + 1 - len(a.come)
}

func takeVideo(peer *webrtc.PeerConnection, track *webrtc.TrackRemote) {
	file, err := os.Create(filepath.Join(*folder, "frames.ivf"))
	must(err)
	defer file.Close()
	header := make([]byte, 32)
	copy(header, "DKIF\x00\x00\x20\x00VP80")
	binary.LittleEndian.PutUint32(header[16:], 90000)
	binary.LittleEndian.PutUint32(header[20:], 1)
	file.Write(header)
	builder := samplebuilder.New(
		1000, &codecs.VP8Packet{}, 90000, samplebuilder.WithMaxTimeDelay(400*time.Millisecond))
	var come arrivals
	isWhole := false
	for {
		packet, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		seen.change(func() {
			come.add(packet.SequenceNumber)
			seen.videoPackets++
			seen.videoMissing = come.missing()
			seen.bytes += packet.MarshalSize()
		})
		builder.Push(packet)
		for sample := builder.Pop(); sample != nil; sample = builder.Pop() {
			isKey := len(sample.Data) > 9 && sample.Data[0]&1 == 0
			if isKey {
				isWhole = true
			} else if sample.PrevDroppedPackets > 0 {
				isWhole = false
				peer.WriteRTCP([]rtcp.Packet{&rtcp.PictureLossIndication{MediaSSRC: uint32(track.SSRC())}})
				seen.change(func() { seen.plis++ })
			}
			if !isWhole {
				continue
			}
			frame := make([]byte, 12)
			binary.LittleEndian.PutUint32(frame, uint32(len(sample.Data)))
			binary.LittleEndian.PutUint32(frame[4:], sample.PacketTimestamp)
			file.Write(append(frame, sample.Data...))
			seen.change(func() {
				seen.frames++
				seen.arrivals = append(seen.arrivals, time.Now())
				seen.hasPicture = true
				if isKey {
					seen.keyFrames++
					seen.size = []int{
						int(binary.LittleEndian.Uint16(sample.Data[6:])) & 0x3FFF,
						int(binary.LittleEndian.Uint16(sample.Data[8:])) & 0x3FFF,
					}
				}
			})
		}
	}
}

// Each packet with its length before it, in two bytes.
func takeAudio(track *webrtc.TrackRemote, index int) {
	file, err := os.Create(filepath.Join(*folder, fmt.Sprintf("sound-%d.opus", index)))
	must(err)
	defer file.Close()
	for {
		packet, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		seen.change(func() {
			seen.audioPackets[index]++
			seen.bytes += packet.MarshalSize()
		})
		if len(packet.Payload) == 0 {
			continue
		}
		length := make([]byte, 2)
		binary.LittleEndian.PutUint16(length, uint16(len(packet.Payload)))
		file.Write(append(length, packet.Payload...))
	}
}

// As a naive receiver does: it estimates what it got in the last second.
func sendREMB(peer *webrtc.PeerConnection, track *webrtc.TrackRemote) {
	last := 0
	for range time.Tick(time.Second) {
		var now int
		seen.change(func() { now = seen.bytes })
		if peer.WriteRTCP([]rtcp.Packet{&rtcp.ReceiverEstimatedMaximumBitrate{
			Bitrate: float32(now-last) * 8, SSRCs: []uint32{uint32(track.SSRC())}}}) != nil {
			return
		}
		last = now
	}
}

func field(sdp, name string) string {
	for _, line := range strings.Split(strings.ReplaceAll(sdp, "\r", ""), "\n") {
		if strings.HasPrefix(line, "a="+name+":") {
			return strings.TrimPrefix(line, "a="+name+":")
		}
	}
	return ""
}

// One fragment for a candidate; nil ends them.
func fragment(sdp string, candidates []string, isLast bool) string {
	var text bytes.Buffer
	fmt.Fprintf(&text, "a=ice-ufrag:%s\r\na=ice-pwd:%s\r\n", field(sdp, "ice-ufrag"), field(sdp, "ice-pwd"))
	fmt.Fprintf(&text, "m=video 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:%s\r\n", field(sdp, "mid"))
	for _, candidate := range candidates {
		fmt.Fprintf(&text, "a=%s\r\n", candidate)
	}
	if isLast {
		text.WriteString("a=end-of-candidates\r\n")
	}
	return text.String()
}

// The answer with the credentials and candidates of a restart in it.
func renewed(answer, fragment string) string {
	var kept []string
	for _, line := range strings.Split(answer, "\r\n") {
		switch {
		case strings.HasPrefix(line, "a=candidate:") || line == "a=end-of-candidates":
		case strings.HasPrefix(line, "a=ice-ufrag:"):
			kept = append(kept, "a=ice-ufrag:"+field(fragment, "ice-ufrag"))
		case strings.HasPrefix(line, "a=ice-pwd:"):
			kept = append(kept, "a=ice-pwd:"+field(fragment, "ice-pwd"))
		default:
			kept = append(kept, line)
		}
	}
	text := strings.Join(kept, "\r\n")
	var candidates []string
	for _, line := range strings.Split(fragment, "\r\n") {
		if strings.HasPrefix(line, "a=candidate:") {
			candidates = append(candidates, line)
		}
	}
	place := strings.Index(text, "a=rtcp-mux")
	return text[:place] + strings.Join(append(candidates, ""), "\r\n") + text[place:]
}

const fragmentType = "application/trickle-ice-sdpfrag"

func restartICE(peer *webrtc.PeerConnection, resource, tag, answer string) string {
	offer, err := peer.CreateOffer(&webrtc.OfferOptions{ICERestart: true})
	must(err)
	gathered := webrtc.GatheringCompletePromise(peer)
	must(peer.SetLocalDescription(offer))
	<-gathered
	local := peer.LocalDescription().SDP
	var candidates []string
	for _, line := range strings.Split(strings.Split(local, "\r\nm=")[1], "\r\n") {
		if strings.HasPrefix(line, "a=candidate:") {
			candidates = append(candidates, strings.TrimPrefix(line, "a="))
		}
	}
	status, _, body := ask("PATCH", resource, fragmentType, tag, fragment(local, candidates, true))
	if status != 200 {
		return fmt.Sprintf("a restart was answered with %d", status)
	}
	if err := peer.SetRemoteDescription(webrtc.SessionDescription{
		Type: webrtc.SDPTypeAnswer, SDP: renewed(answer, body)}); err != nil {
		return err.Error()
	}
	return ""
}

func main() {
	flag.Parse()
	peer, err := engine().NewPeerConnection(webrtc.Configuration{})
	must(err)
	for _, kind := range strings.Split(*media, ",") {
		if kind == "data" {
			_, err = peer.CreateDataChannel("x", nil)
		} else {
			_, err = peer.AddTransceiverFromKind(
				webrtc.NewRTPCodecType(kind), webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly})
		}
		must(err)
	}
	peer.OnTrack(func(track *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
		// Reports come, and nobody else reads them.
		go func() {
			buffer := make([]byte, 1500)
			for {
				if _, _, err := receiver.Read(buffer); err != nil {
					return
				}
			}
		}()
		if track.Kind() == webrtc.RTPCodecTypeVideo {
			if *feedback == "remb" {
				go sendREMB(peer, track)
			}
			takeVideo(peer, track)
			return
		}
		index := -1
		for _, transceiver := range peer.GetTransceivers() {
			if transceiver.Kind() == webrtc.RTPCodecTypeAudio {
				index++
			}
			if transceiver.Receiver() == receiver {
				break
			}
		}
		seen.change(func() {
			for len(seen.audioPackets) <= index {
				seen.audioPackets = append(seen.audioPackets, 0)
			}
		})
		takeAudio(track, index)
	})
	var states []string
	peer.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		seen.change(func() { states = append(states, state.String()) })
	})
	found := make(chan *webrtc.ICECandidate, 64)
	if *trickle {
		peer.OnICECandidate(func(candidate *webrtc.ICECandidate) { found <- candidate })
	}

	offer, err := peer.CreateOffer(nil)
	must(err)
	gathered := webrtc.GatheringCompletePromise(peer)
	must(peer.SetLocalDescription(offer))
	if !*trickle {
		<-gathered
		offer = *peer.LocalDescription()
	}
	status, headers, answer := ask("POST", *endpoint, "application/sdp", "", offer.SDP)
	report := map[string]interface{}{
		"peer": "pion", "connected": false, "offer": offer.SDP, "answer": answer, "status": status}
	if status == 201 {
		resource, tag := headers.Get("Location"), headers.Get("ETag")
		if err := peer.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}); err != nil {
			report["error"] = err.Error()
		}
		for *trickle {
			candidate := <-found
			var candidates []string
			if candidate != nil {
				candidates = append(candidates, candidate.ToJSON().Candidate)
			}
			report["patched"], _, _ = ask(
				"PATCH", resource, fragmentType, tag, fragment(offer.SDP, candidates, candidate == nil))
			if candidate == nil {
				break
			}
		}
		isConnected := false
		for deadline := time.Now().Add(8 * time.Second); !isConnected && time.Now().Before(deadline) && report["error"] == nil; {
			time.Sleep(20 * time.Millisecond)
			seen.change(func() { isConnected = seen.hasPicture })
		}
		report["connected"] = isConnected
		if isConnected {
			if *restart {
				time.Sleep(500 * time.Millisecond)
				if problem := restartICE(peer, resource, tag, answer); problem != "" {
					report["error"] = problem
				}
			}
			time.Sleep(time.Duration(*skip * float64(time.Second)))
			var before figures
			seen.change(func() {
				before = figures{
					frames: seen.frames, keyFrames: seen.keyFrames, plis: seen.plis, nacks: seen.nacks, bytes: seen.bytes,
					arrivals: seen.arrivals, repeats: seen.repeats}
			})
			begin := time.Now()
			time.Sleep(time.Duration(*seconds * float64(time.Second)))
			seen.change(func() {
				longest := 0.0
				moments := append(append([]time.Time{begin}, seen.arrivals[len(before.arrivals):]...), time.Now())
				for index := 1; index < len(moments); index++ {
					if gap := moments[index].Sub(moments[index-1]).Seconds(); gap > longest {
						longest = gap
					}
				}
				report["seconds"] = time.Since(begin).Seconds()
				report["frames"] = seen.frames - before.frames
				report["keyFrames"] = seen.keyFrames - before.keyFrames
				report["longestGap"] = longest
				report["plis"] = seen.plis - before.plis
				report["nacks"] = seen.nacks - before.nacks
				report["repeats"] = seen.repeats - before.repeats
				report["bytes"] = seen.bytes - before.bytes
				report["videoPackets"] = seen.videoPackets
				report["videoLost"] = seen.videoMissing
				report["audioPackets"] = seen.audioPackets
				report["size"] = seen.size
				report["sounds"] = len(seen.audioPackets)
				report["states"] = states
			})
		}
		ask("DELETE", resource, "", "", "")
	}
	peer.Close()
	text, err := json.Marshal(report)
	must(err)
	fmt.Println(string(text))
}
