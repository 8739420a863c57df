// A WHIP client (RFC 9725) made of Pion: publishes an encoded file over and over, until SIGINT or for some seconds.
// H.264 and H.265 are packetized as libdatachannel does it for OBS: each NAL unit in packets of its own (single unit or FU), access
// unit delimiters and SEI too, nothing aggregated.
//
// Options: --url, --token, --codec vp9|h264|h265|av1|opus (opus: audio alone), --file (a byte stream with delimiters, IVF, or Ogg with
// packets of 20 ms), --rate frames a second, --seconds, --largest payload in bytes, --setup actpass|active|passive. Prints a report, a line of JSON: status, answer, plis.
package main

import (
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v3"
)

var (
	endpoint = flag.String("url", "", "")
	token    = flag.String("token", "", "")
	codec    = flag.String("codec", "h264", "")
	file     = flag.String("file", "", "")
	rate     = flag.Int("rate", 10, "")
	seconds  = flag.Float64("seconds", 30, "")
	payload  = flag.Int("largest", 1188, "")
	setup    = flag.String("setup", "actpass", "")
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var client = &http.Client{
	Timeout:   10 * time.Second,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
}

func ask(method, address, body string) (int, http.Header, string) {
	base, err := url.Parse(*endpoint)
	must(err)
	target, err := base.Parse(address)
	must(err)
	request, err := http.NewRequest(method, target.String(), strings.NewReader(body))
	must(err)
	request.Header.Set("Authorization", "Bearer "+*token)
	if body != "" {
		request.Header.Set("Content-Type", "application/sdp")
	}
	answer, err := client.Do(request)
	must(err)
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header, string(text)
}

// units splits a byte stream at its start codes.
func units(stream []byte) [][]byte {
	var found [][]byte
	start := -1
	for i := 0; i+2 < len(stream); i++ {
		if stream[i] == 0 && stream[i+1] == 0 && stream[i+2] == 1 {
			if start >= 0 {
				end := i
				for end > start && stream[end-1] == 0 {
					end--
				}
				found = append(found, stream[start:end])
			}
			start = i + 3
			i += 2
		}
	}
	if start >= 0 {
		found = append(found, stream[start:])
	}
	return found
}

// frames are the file's frames, each with its units.
func frames(bytes []byte) (result [][][]byte) {
	if *codec == "opus" {
		return audio(bytes)
	}
	if *codec == "vp9" || *codec == "av1" {
		for at := 32; at+12 <= len(bytes); {
			length := int(bytes[at]) | int(bytes[at+1])<<8 | int(bytes[at+2])<<16
			result = append(result, [][]byte{bytes[at+12 : at+12+length]})
			at += 12 + length
		}
		return
	}
	for _, unit := range units(bytes) {
		if *codec == "h264" && unit[0]&0x1F == 9 || *codec == "h265" && unit[0]>>1 == 35 {
			result = append(result, nil)
		}
		result[len(result)-1] = append(result[len(result)-1], unit)
	}
	return
}

// audio are the packets of an Ogg file, without its two headers (RFC 3533 section 6, RFC 7845 section 3).
func audio(bytes []byte) (result [][][]byte) {
	var packet []byte
	for at := 0; at+27 <= len(bytes); {
		table := bytes[at+27 : at+27+int(bytes[at+26])]
		at += 27 + len(table)
		for _, length := range table {
			packet = append(packet, bytes[at:at+int(length)]...)
			at += int(length)
			if length < 255 {
				result = append(result, [][]byte{packet})
				packet = nil
			}
		}
	}
	return result[2:]
}

// fragments makes the payloads of a unit; header bytes of the unit are replaced by those of the fragments.
func fragments(unit []byte) (payloads [][]byte) {
	if len(unit) <= *payload {
		return [][]byte{unit}
	}
	var indicator []byte
	var kind byte
	if *codec == "h264" {
		indicator, kind = []byte{unit[0]&0xE0 | 28}, unit[0]&0x1F
	} else {
		indicator, kind = []byte{unit[0]&0x81 | 49<<1, unit[1]}, unit[0]>>1&0x3F
	}
	rest := unit[len(indicator):]
	for first := true; len(rest) > 0; first = false {
		count := *payload - 3
		if count > len(rest) {
			count = len(rest)
		}
		header := kind
		if first {
			header |= 0x80
		}
		if count == len(rest) {
			header |= 0x40
		}
		payloads = append(payloads, append(append(append([]byte{}, indicator...), header), rest[:count]...))
		rest = rest[count:]
	}
	return
}

// av1 makes the payloads of a temporal unit: one element a packet, without sizes (RTP Payload Format For AV1, section 4).
func av1(unit []byte) (payloads [][]byte) {
	startsSequence := false
	for len(unit) > 0 {
		header := unit[0]
		at, size := 1, 0
		if header&4 != 0 {
			at = 2
		}
		head := append([]byte{header &^ 2}, unit[1:at]...)
		for shift := 0; ; shift += 7 {
			size |= int(unit[at]&0x7F) << shift
			at++
			if unit[at-1]&0x80 == 0 {
				break
			}
		}
		element := append(head, unit[at:at+size]...)
		unit = unit[at+size:]
		kind := header >> 3 & 15
		if kind == 2 {
			continue
		}
		startsSequence = startsSequence || kind == 1
		for first := true; len(element) > 0; first = false {
			count := *payload - 1
			if count > len(element) {
				count = len(element)
			}
			aggregation := byte(0x10)
			if !first {
				aggregation |= 0x80
			}
			if count < len(element) {
				aggregation |= 0x40
			}
			payloads = append(payloads, append([]byte{aggregation}, element[:count]...))
			element = element[count:]
		}
	}
	if startsSequence {
		payloads[0][0] |= 0x08
	}
	return
}

func main() {
	flag.Parse()
	bytes, err := os.ReadFile(*file)
	must(err)
	pictures := frames(bytes)
	types := map[string]string{
		"vp9": webrtc.MimeTypeVP9, "h264": webrtc.MimeTypeH264, "h265": webrtc.MimeTypeH265, "av1": webrtc.MimeTypeAV1,
	}
	lines := map[string]string{"h264": "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"}
	kind := webrtc.RTPCodecTypeVideo
	capability := webrtc.RTPCodecCapability{
		MimeType: types[*codec], ClockRate: 90000, SDPFmtpLine: lines[*codec],
		RTCPFeedback: []webrtc.RTCPFeedback{{Type: "nack"}, {Type: "nack", Parameter: "pli"}},
	}
	clock := uint32(90000)
	if *codec == "opus" {
		kind, clock, *rate = webrtc.RTPCodecTypeAudio, 48000, 50
		capability = webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2}
	}
	engine, registry := &webrtc.MediaEngine{}, &interceptor.Registry{}
	must(engine.RegisterCodec(
		webrtc.RTPCodecParameters{RTPCodecCapability: capability, PayloadType: 96}, kind))
	must(webrtc.RegisterDefaultInterceptors(engine, registry))
	api := webrtc.NewAPI(webrtc.WithMediaEngine(engine), webrtc.WithInterceptorRegistry(registry))
	peer, err := api.NewPeerConnection(webrtc.Configuration{})
	must(err)
	track, err := webrtc.NewTrackLocalStaticRTP(capability, "video", "foreign")
	must(err)
	transceiver, err := peer.AddTransceiverFromTrack(
		track, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
	must(err)
	offer, err := peer.CreateOffer(nil)
	must(err)
	gathered := webrtc.GatheringCompletePromise(peer)
	must(peer.SetLocalDescription(offer))
	<-gathered
	// Pion is DTLS's server if the answer says "active".
	text := strings.ReplaceAll(peer.LocalDescription().SDP, "a=setup:actpass", "a=setup:"+*setup)
	status, headers, answer := ask("POST", *endpoint, text)
	report := map[string]interface{}{"status": status, "answer": answer}
	if status == 201 {
		must(peer.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}))
		report["plis"] = publish(peer, track, transceiver.Sender(), pictures, clock)
		ask("DELETE", headers.Get("Location"), "")
	}
	must(peer.Close())
	line, _ := json.Marshal(report)
	fmt.Println(string(line))
}

// publish sends until it is stopped, and returns how many key frames were asked for. Each is the file's first frame.
func publish(
	peer *webrtc.PeerConnection, track *webrtc.TrackLocalStaticRTP, sender *webrtc.RTPSender, pictures [][][]byte,
	clock uint32,
) int64 {
	var plis, isWanted int64
	go func() {
		for {
			packets, _, err := sender.ReadRTCP()
			if err != nil {
				return
			}
			for _, packet := range packets {
				if _, isRequest := packet.(*rtcp.PictureLossIndication); isRequest {
					atomic.AddInt64(&plis, 1)
					atomic.StoreInt64(&isWanted, 1)
				}
			}
		}
	}()
	connected, stopped := make(chan struct{}, 1), make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt)
	peer.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		if state == webrtc.PeerConnectionStateConnected {
			connected <- struct{}{}
		}
	})
	end := time.After(time.Duration(*seconds * float64(time.Second)))
	select {
	case <-connected:
	case <-stopped:
		return atomic.LoadInt64(&plis)
	case <-end:
		return atomic.LoadInt64(&plis)
	}
	vp9 := &codecs.VP9Payloader{}
	ticker := time.NewTicker(time.Second / time.Duration(*rate))
	number, index, timestamp := uint16(1), 0, uint32(90000)
	for {
		select {
		case <-stopped:
			return atomic.LoadInt64(&plis)
		case <-end:
			return atomic.LoadInt64(&plis)
		case <-ticker.C:
		}
		if atomic.SwapInt64(&isWanted, 0) == 1 {
			index = 0
		}
		var payloads [][]byte
		for _, unit := range pictures[index%len(pictures)] {
			switch *codec {
			case "vp9":
				payloads = append(payloads, vp9.Payload(uint16(*payload), unit)...)
			case "av1":
				payloads = append(payloads, av1(unit)...)
			case "opus":
				payloads = append(payloads, unit)
			default:
				payloads = append(payloads, fragments(unit)...)
			}
		}
		for place, payload := range payloads {
			must(track.WriteRTP(&rtp.Packet{
				Header: rtp.Header{
					Version: 2, PayloadType: 96, SequenceNumber: number, Timestamp: timestamp,
					Marker: place == len(payloads)-1,
				},
				Payload: payload,
			}))
			number++
		}
		index++
		timestamp += clock / uint32(*rate)
	}
}
