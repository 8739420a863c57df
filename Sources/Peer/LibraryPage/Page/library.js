// The page of `share recordings open`: a gallery, a player with a timeline, trimming and download.

const element = (id) => document.getElementById(id);
const video = element("video");
/** The recording in the player, with the part that is marked, in seconds. */
let current = null;
let part = { begin: 0, end: 0 };

const clock = (seconds) => {
    const whole = Math.max(Math.floor(seconds), 0);
    const parts = [Math.floor(whole / 60) % 60, whole % 60].map((value) => String(value).padStart(2, "0"));
    return (whole >= 3600 ? [Math.floor(whole / 3600), ...parts] : parts).join(":");
};
const length = () => (Number.isFinite(video.duration) ? video.duration : current?.seconds ?? 0);

const describe = (recording) => {
    const date = new Date(recording.began * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
    return typeof recording.bytes === "number" ? `${date}, ${(recording.bytes / 1e6).toFixed(1)} MB` : date;
};
const badge = (recording) => typeof recording.seconds === "number" ? clock(recording.seconds) : recording.state;

const showPart = () => {
    const whole = Math.max(length(), 0.001);
    element("part").style.left = `${(part.begin / whole) * 100}%`;
    element("part").style.right = `${100 - (part.end / whole) * 100}%`;
    element("place").style.left = `${(video.currentTime / whole) * 100}%`;
    element("range").textContent = `${clock(part.begin)} to ${clock(part.end)}`;
    element("trim").disabled = part.end - part.begin < 0.1;
};

const open = (recording) => {
    current = recording;
    element("player").hidden = false;
    element("name").textContent = recording.title || recording.name;
    element("message").textContent = "";
    element("download").href = `files/${recording.number}?download`;
    video.src = `files/${recording.number}`;
    part = { begin: 0, end: recording.seconds ?? 0 };
    for (const card of document.querySelectorAll(".card")) {
        card.setAttribute("aria-current", String(Number(card.dataset.number) === recording.number));
    }
    showPart();
};

const close = () => {
    video.pause();
    video.removeAttribute("src");
    video.load();
    element("player").hidden = true;
    current = null;
};

const card = (recording) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "card";
    button.dataset.number = String(recording.number);
    const picture = document.createElement("img");
    picture.src = `pictures/${recording.number}.png`;
    picture.alt = "";
    picture.loading = "lazy";
    const time = document.createElement("em");
    time.textContent = badge(recording);
    const title = document.createElement("strong");
    title.textContent = recording.title || recording.name;
    const line = document.createElement("span");
    line.textContent = describe(recording);
    button.append(picture, time, title, line);
    button.addEventListener("click", () => open(recording));
    item.append(button);
    return item;
};

const load = async () => {
    const response = await fetch("api/recordings");
    if (!response.ok) throw new Error(`the list cannot be read (${response.status})`);
    const recordings = (await response.json()).filter((recording) => recording.state !== "gone");
    element("gallery").replaceChildren(...recordings.map(card));
    element("summary").textContent = recordings.length === 0
        ? "None yet: share record, share host --record, share clip" : `${recordings.length}`;
    return recordings;
};

const trim = async () => {
    element("trim").disabled = true;
    element("message").textContent = "Saving ...";
    try {
        const response = await fetch("api/trim", {
            method: "POST", headers: { "Content-Type": "application/json" },
            body: JSON.stringify({ number: current.number, from: part.begin, to: part.end }),
        });
        const answer = await response.json();
        if (!response.ok) throw new Error(answer.message);
        await load();
        element("message").textContent = `Saved as ${answer.name}.`;
    } catch (error) {
        element("message").textContent = `Not saved: ${error.message}.`;
    }
    showPart();
};

const scrub = (event) => {
    const box = element("timeline").getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    video.currentTime = share * length();
};

element("begin").addEventListener("click", () => {
    part.begin = video.currentTime;
    part.end = Math.max(part.end, part.begin);
    showPart();
});
element("finish").addEventListener("click", () => {
    part.end = video.currentTime;
    part.begin = Math.min(part.begin, part.end);
    showPart();
});
element("trim").addEventListener("click", trim);
element("close").addEventListener("click", close);
element("timeline").addEventListener("pointerdown", (event) => {
    element("timeline").setPointerCapture(event.pointerId);
    scrub(event);
});
element("timeline").addEventListener("pointermove", (event) => { if (event.buttons === 1) scrub(event); });
video.addEventListener("loadedmetadata", () => {
    part.end = length();
    showPart();
});
video.addEventListener("timeupdate", showPart);
video.addEventListener("seeking", showPart);
addEventListener("pagehide", () => navigator.sendBeacon("api/left"));
video.addEventListener("error", () => {
    if (current) element("message").textContent = "This browser cannot play it.";
});

// A page of one recording is there to show it.
load().then((recordings) => {
    if (recordings.length === 1) open(recordings[0]);
}).catch((error) => { element("summary").textContent = error.message; });
