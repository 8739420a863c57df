// The start: nobody is asked anything before the viewer's click, which also lets the browser play audio.

import { AdmissionStore } from './admission.js';
import { setUpControls } from './controls.js';
import { element, hasTouchAlone } from './elements.js';
import { Interaction } from './interaction.js';
import { parseLink } from './link.js';
import { pageBase, waitForProgramEnd } from './local-page.js';
import { isMove, moveOf } from './other-relays.js';
import { setUpPlayer } from './player.js';
import { ViewerSession } from './session.js';
import { SessionEnd } from './session-end.js';
import { canRunShare, shareSchemeLink } from './share-scheme.js';
import { toggleStatistics } from './statistics-panel.js';
import { offerForm, show, stopFormTimer } from './view.js';
import { setUpWakeLock } from './wake-lock.js';

let link = null, admissions = null, session = null;

function storedName() { try { return localStorage.getItem('name') || ''; } catch { return ''; } }
function storeName(name) { try { if (!pageBase()) localStorage.setItem('name', name); } catch { /* It is asked for again. */ } }

function ask() {
    const { name } = element('stage').dataset;
    show('asking', name ? name + ' shares a screen with you.' : 'A screen is shared with you.',
        'The host sees your name and decides whether you may watch. Your own screen, camera and microphone are not shared.');
    offerForm('Ask to watch', 0, true);
    element(element('name').value ? 'watch' : 'name').focus();
}

function start(mustAsk) {
    stopFormTimer();
    session = new ViewerSession(link, admissions, element('name').value.trim(), mustAsk, interaction);
    session.run();
}

// Begins without a click for a viewer whom another relay has sent here.
async function beginMove({ name, mark }) {
    show('connecting', 'Going on at another relay ...');
    if (!await isMove(mark, link)) return ask();
    element('name').value = name;
    storeName(name);
    start(null);
}

const interaction = new Interaction();
setUpPlayer();
setUpWakeLock();
setUpControls({
    leave() {
        session.leave();
        admissions.forgetStored();
    },
    writeComment: () => interaction.comments.begin(),
    togglePointing: () => interaction.pointer.toggle(),
    wishControl: () => interaction.control.wish(),
    toggleStatistics: () => toggleStatistics(() => (session && !session.isOver && session.peer ? session.peer.pc : null)),
});
element('form').onsubmit = event => {
    event.preventDefault();
    storeName(element('name').value.trim());
    start(null);
};
element('cancel').onclick = () => {
    session.close();
    ask();
};
window.addEventListener('pagehide', () => { if (session) session.client.leave(); });
window.addEventListener('pageshow', event => { if (event.persisted) location.reload(); });
window.addEventListener('hashchange', () => location.reload());

// The program of this computer that passes the requests on has ended.
function endWithProgram() {
    // Another user's program may get the port, and a page that is loaded again would tell it the link.
    history.replaceState(null, '', location.pathname);
    const ending = new SessionEnd('ended', 'The program share has ended on this computer.', 'Start share join --browser again.', '');
    if (session) {
        // The program has closed it.
        session.client.forgetSession();
        session.end(ending);
    } else {
        show(ending.state, ending.message, ending.hint);
    }
    offerForm('');
}

element('name').value = storedName() || element('stage').dataset.viewer || '';
if (pageBase()) waitForProgramEnd().then(endWithProgram);
try {
    link = parseLink(location.pathname, location.hash);
    link.base = pageBase();
    admissions = new AdmissionStore(link.id, sessionStorage);
    const move = moveOf(location.search);
    // A reload is no move.
    if (move) history.replaceState(null, '', location.pathname + location.hash);
    const address = shareSchemeLink(location, link.id);
    if (address && canRunShare(navigator, hasTouchAlone())) element('open-in-share').href = address;
    if (admissions.current) start(ask);
    else if (move) beginMove(move);
    else ask();
} catch (error) { show(error.state || 'error', error.message, error.hint); }
