/** The script of the page's figures. The page is fetched again every two seconds, and the parts
 *  that have changed replace the old ones: only the server makes them. What is open, focused or
 *  scrolled stays so. The switch asks twice. */

const refreshEveryMs = 2000
const focusable = 'a, button, summary, [tabindex]'

const pauseButton = required<HTMLButtonElement>('#pause')
const liveState = required('#live-state')
let isPaused = false
let isLate = false

function required<E extends HTMLElement = HTMLElement>(
  selector: string,
  within: ParentNode = document,
): E {
  const element = within.querySelector<E>(selector)
  if (element === null) throw new Error(`the page has no ${selector}`)
  return element
}

/** Opens in the new part what is open in the old one; returns a function that scrolls as before. */
function keepState(old: HTMLElement, fresh: HTMLElement): () => void {
  for (const details of fresh.querySelectorAll<HTMLDetailsElement>('details[id]')) {
    const before = document.getElementById(details.id)
    if (before instanceof HTMLDetailsElement && before.open) details.open = true
  }
  const lefts = new Map(scrollsOf(old).map(one => [one.getAttribute('aria-label'), one.scrollLeft]))
  return () => {
    for (const one of scrollsOf(old)) {
      one.scrollLeft = lefts.get(one.getAttribute('aria-label')) ?? one.scrollLeft
    }
  }
}

function scrollsOf(part: HTMLElement): HTMLElement[] {
  return [...part.querySelectorAll<HTMLElement>('.scroll')]
}

function replace(old: HTMLElement, fresh: HTMLElement): void {
  if (old.innerHTML === fresh.innerHTML) return
  // A question that is open stays until it is answered.
  if (old.querySelector('.sure:not([hidden])') || old.querySelector('.said:not(:empty)')) return
  const active = document.activeElement
  const isInside = active !== document.body && old.contains(active)
  const index = isInside ? [...old.querySelectorAll(focusable)].indexOf(active as Element) : -1
  const restore = keepState(old, fresh)
  old.replaceChildren(...fresh.childNodes)
  restore()
  if (index >= 0) {
    old.querySelectorAll<HTMLElement>(focusable)[index]?.focus({ preventScroll: true })
  }
  useSwitch()
}

async function refresh(): Promise<void> {
  if (isPaused || document.hidden || document.body.hasAttribute('data-objects')) return
  try {
    const answer = await fetch(location.href, {
      headers: { accept: 'text/html' },
      cache: 'no-store',
      signal: AbortSignal.timeout(10_000),
    })
    if (!answer.ok) throw new Error(`status ${answer.status}`)
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html')
    for (const part of document.querySelectorAll<HTMLElement>('[data-live]')) {
      const other = fresh.getElementById(part.id)
      if (other !== null) replace(part, other)
    }
    if (isLate) say('Live')
    isLate = false
  } catch {
    if (!isLate) say('The server does not answer: these figures are old')
    isLate = true
  }
}

function say(text: string): void {
  liveState.textContent = text
}

function useSwitch(): void {
  const box = document.querySelector<HTMLElement>('.switch')
  if (!box?.hidden) return
  box.hidden = false
  const sure = required('.sure', box)
  const ask = required<HTMLButtonElement>('.ask', box)
  const no = required<HTMLButtonElement>('.no', box)
  const said = required('.said', box)
  const close = (): void => {
    sure.hidden = true
    ask.hidden = false
    ask.focus()
  }
  ask.onclick = () => {
    said.textContent = ''
    sure.hidden = false
    ask.hidden = true
    no.focus()
  }
  no.onclick = close
  box.onkeydown = ({ key }) => {
    if (key === 'Escape' && !sure.hidden) close()
  }
  required<HTMLButtonElement>('.yes', box).onclick = async () => {
    const failure = await switchTo(box.dataset['state'] ?? '')
    close()
    if (failure !== undefined) said.textContent = `Not switched: ${failure}`
    await refresh()
  }
}

/** Switches, and returns the reason why that failed. The address begins at the page, which may be
 *  that of one of many clusters. */
async function switchTo(state: string): Promise<string | undefined> {
  try {
    const answer = await fetch(`pass-through?state=${state}`, { method: 'PUT' })
    return answer.ok ? undefined : await answer.text()
  } catch {
    return 'the server does not answer'
  }
}

async function live(): Promise<never> {
  for (;;) {
    await new Promise(done => setTimeout(done, refreshEveryMs))
    await refresh()
  }
}

pauseButton.hidden = false
pauseButton.onclick = () => {
  isPaused = !isPaused
  pauseButton.textContent = isPaused ? 'Resume' : 'Pause'
  say(isPaused ? 'Paused' : 'Live')
  void refresh()
}
say('Live')
useSwitch()
void live()

export {}
