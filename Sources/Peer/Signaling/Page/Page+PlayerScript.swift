extension ViewerPage {
    /// The picture, the sound and their controls.
    static let playerScript = ##"""
        // --- playing

        // The browser wants a click before it makes a sound; or before it plays at all.
        let isSilenced = false, isHeld = false;
        function offerSound() {
            const hasSound = root.dataset.state === 'playing' && !$('mute').hidden;
            $('sound').hidden = !visit || visit.isOver || !(isHeld || isSilenced && hasSound);
            $('sound').textContent = isHeld ? 'Click to play' : 'Click for sound';
            // The same thing twice takes room.
            $('mute').classList.toggle('replaced', !$('sound').hidden);
        }

        function mute(isMuted) {
            video.muted = microphone.muted = isMuted;
            $('mute').textContent = isMuted ? 'Unmute' : 'Mute';
            if (!isMuted) isSilenced = isHeld = false;
            offerSound();
        }

        async function play() {
            try {
                await video.play();
                if (microphone.srcObject) await microphone.play();
            } catch (error) {
                if (error.name !== 'NotAllowedError' || video.muted) return;
                // Picture first.
                mute(true);
                isSilenced = true;
                offerSound();
                video.play().catch(error => { isHeld = error.name === 'NotAllowedError'; offerSound(); });
            }
        }

        // A live picture that stands is never wanted: Safari pauses it after full screen and behind other tabs.
        function goOn() {
            if (visit && !visit.isOver && !document.hidden && video.srcObject && video.srcObject.active) play();
        }
        for (const element of [video, microphone]) element.addEventListener('pause', () => setTimeout(goOn));
        document.addEventListener('visibilitychange', goOn);

        function playing() {
            if (!visit || visit.isOver || !video.videoWidth || root.dataset.state === 'playing') return;
            visit.hasPlayed = true;
            show('playing', 'Playing');
            wake();
        }
        // The last picture, over a video that begins anew, until that has one of its own.
        function freeze() {
            if (!video.videoWidth || !still.hidden) return;
            still.width = video.videoWidth;
            still.height = video.videoHeight;
            still.getContext('2d').drawImage(video, 0, 0);
            still.hidden = false;
        }
        video.addEventListener('loadeddata', () => { still.hidden = true; });
        video.addEventListener('playing', playing);
        video.addEventListener('loadeddata', playing);
        video.addEventListener('resize', playing);

        let sleepTimer = 0;
        function wake() {
            stage.classList.remove('idle');
            clearTimeout(sleepTimer);
            sleepTimer = setTimeout(() => stage.classList.toggle('idle', root.dataset.state === 'playing'), 3000);
        }
        for (const kind of ['pointermove', 'pointerdown', 'keydown', 'focusin']) window.addEventListener(kind, wake);

        function fullscreen() {
            if (document.fullscreenElement) document.exitFullscreen();
            else if (stage.requestFullscreen) stage.requestFullscreen().catch(() => {});
            else if (video.webkitEnterFullscreen) video.webkitEnterFullscreen();
        }
        document.addEventListener('fullscreenchange', () => {
            $('full').textContent = document.fullscreenElement ? 'Leave full screen' : 'Full screen';
        });
        function sound(isMuted) {
            mute(isMuted);
            video.play().catch(() => {});
            if (microphone.srcObject) microphone.play().catch(() => {});
        }
        $('mute').onclick = () => sound(!video.muted);
        $('sound').onclick = () => sound(false);
        $('full').onclick = fullscreen;
        $('leave').onclick = () => {
            visit.end('ended', 'You have left.');
            forgetOverReload();
        };
        video.ondblclick = fullscreen;
        // The focus that a pointer brought would keep the bar; a key's click has detail 0.
        $('bar').addEventListener('click', event => { if (event.detail) document.activeElement.blur(); });
        window.addEventListener('keydown', event => {
            if (event.target.tagName === 'INPUT' || event.ctrlKey || event.metaKey || event.altKey) return;
            if (root.dataset.state !== 'playing') return;
            const key = event.key.toLowerCase();
            if (key === 'f') fullscreen();
            if (key === 's') toggleStatistics();
            if (key === 'm' && !$('mute').hidden) sound(!video.muted);
        });
        """##
}
