// The directory page of a relay: what is live, with the most viewers first.

const refreshInterval = 5000;

/** A sentence about the age of a broadcast; `seconds` may be negative if the clocks differ. */
export const age = (seconds) => {
  const minutes = Math.floor(Math.max(0, seconds) / 60);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
};

/** What is said below the title of a broadcast. */
export const facts = (broadcast, now) => {
  const { viewers, region, application, title } = broadcast;
  const watching = typeof viewers === 'number' ? `${viewers} ${viewers === 1 ? 'viewer' : 'viewers'}` : '';
  const name = application.name === title ? '' : application.name;
  const encrypted = broadcast.encrypted === true ? 'end-to-end encrypted' : '';
  return [watching, name, region ?? '', encrypted, age(now - broadcast.since)].filter((text) => text !== '').join(' · ');
};

/** Whether a broadcast has all words of a search in its title, application or region. */
export const matches = (broadcast, search) => {
  const { title, application, region } = broadcast;
  const text = [title, application.name, application.id, region ?? ''].join(' ').toLowerCase();
  return search.toLowerCase().split(/\s+/).every((word) => text.includes(word));
};

/** The first letter or digit of a name. */
export const initial = (name) => (name.match(/[\p{L}\p{N}]/u)?.[0] ?? '?').toUpperCase();

/** A link that may be followed: another scheme would run in this page. */
export const safeLink = (text) => (/^https:\/\/[^\s/]+\/[0-9A-Z]+#[\w-]+$/i.test(text) ? text : null);

const element = (name, className, text) => {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
};

const icon = ({ id, application }) => {
  const letter = element('span', 'icon', initial(application.name));
  letter.ariaHidden = 'true';
  if (!application.hasIcon) return letter;
  const image = element('img', 'icon', '');
  image.alt = '';
  image.src = `/broadcasts/${encodeURIComponent(id)}/icon`;
  image.addEventListener('error', () => image.replaceWith(letter));
  return image;
};

const card = (broadcast, now) => {
  const link = element('a', '', '');
  link.href = safeLink(broadcast.link) ?? '#';
  link.append(
    icon(broadcast), element('span', 'title', broadcast.title), element('span', 'facts', facts(broadcast, now)));
  const item = element('li', '', '');
  item.append(link);
  return item;
};

export const start = (page, fetchList) => {
  const [status, list, search] = ['status', 'broadcasts', 'search'].map((id) => page.getElementById(id));
  let shown = '';
  let latest = { broadcasts: [], total: 0 };

  const show = () => {
    const now = Date.now() / 1000;
    const found = latest.broadcasts.filter((broadcast) => matches(broadcast, search.value));
    const more = latest.total - latest.broadcasts.length;
    if (latest.total === 0) status.textContent = 'Nobody shares a screen here at the moment.';
    else if (found.length === 0) status.textContent = 'Nothing that is live matches.';
    else status.textContent = more > 0 ? `${latest.total} are live; those with the most viewers are shown.` : '';
    const state = JSON.stringify(found.map((broadcast) => [broadcast, facts(broadcast, now)]));
    // An element that is replaced loses the focus.
    if (state === shown) return;
    shown = state;
    const focused = page.activeElement?.href;
    list.replaceChildren(...found.map((broadcast) => card(broadcast, now)));
    if (focused) [...list.querySelectorAll('a')].find((link) => link.href === focused)?.focus();
  };

  const refresh = async () => {
    try {
      if (!page.hidden) {
        latest = await fetchList();
        show();
      }
    } catch {
      status.textContent = 'The relay does not answer. This page goes on trying.';
    }
    setTimeout(refresh, refreshInterval);
  };

  search.addEventListener('input', show);
  refresh();
};

// Tests have no page.
if (typeof document !== 'undefined') {
  start(document, async () => {
    const answer = await fetch('/broadcasts', { cache: 'no-store' });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return answer.json();
  });
}
