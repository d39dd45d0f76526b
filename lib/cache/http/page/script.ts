/** The script of the page. It fetches the page again every two seconds and puts the parts that have
 *  changed in place of the old ones: the server is the only one that makes them. What is open,
 *  focused or scrolled stays so. It also has the switch, which asks twice. */

import type { Shows } from './objects.ts'
import { objectsScript } from './objects-script.ts'

/** The script of a page: one element, whose hash the policy names. */
export function scriptOf(shows: Shows): string {
  const parts = [shows === 'objects' ? '' : figuresScript, shows === 'figures' ? '' : objectsScript]
  return `\n'use strict'\n${parts.map(part => (part === '' ? '' : `{${part}}\n`)).join('')}`
}

const figuresScript = `
const pauseButton = document.getElementById('pause')
const said = document.getElementById('live-state')
let isPaused = false
let isLate = false

function keep(old, fresh) {
  for (const one of fresh.querySelectorAll('details[id]')) {
    const before = document.getElementById(one.id)
    if (before && before.open) one.open = true
  }
  const places = [...old.querySelectorAll('.scroll')].map(one => [one.scrollLeft, one.getAttribute('aria-label')])
  return () => {
    for (const one of old.querySelectorAll('.scroll')) {
      const place = places.find(([, label]) => label === one.getAttribute('aria-label'))
      if (place) one.scrollLeft = place[0]
    }
  }
}

function replace(old, fresh) {
  if (old.innerHTML === fresh.innerHTML) return
  // What somebody uses right now stays until they are done.
  if (old.querySelector('.sure:not([hidden])') || old.querySelector('.said:not(:empty)')) return
  const active = document.activeElement
  const inside = active !== document.body && old.contains(active)
  const among = inside ? [...old.querySelectorAll(focusable)].indexOf(active) : -1
  const restore = keep(old, fresh)
  old.replaceChildren(...fresh.childNodes)
  restore()
  if (among >= 0) {
    const again = old.querySelectorAll(focusable)[among]
    if (again) again.focus({ preventScroll: true })
  }
  useSwitch()
}
const focusable = 'a, button, summary, [tabindex]'

async function refresh() {
  if (isPaused || document.hidden || document.body.hasAttribute('data-objects')) return
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' }, cache: 'no-store', signal: AbortSignal.timeout(10000) })
    if (!answer.ok) throw new Error('status ' + answer.status)
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html')
    for (const part of document.querySelectorAll('[data-live]')) {
      const other = fresh.getElementById(part.id)
      if (other) replace(part, other)
    }
    if (isLate) say('Live')
    isLate = false
  } catch {
    if (!isLate) say('The server does not answer: these figures are old')
    isLate = true
  }
}

function say(text) {
  said.textContent = text
}

function useSwitch() {
  const box = document.querySelector('.switch')
  if (!box || !box.hidden) return
  box.hidden = false
  const sure = box.querySelector('.sure')
  const ask = box.querySelector('.ask')
  const answer = box.querySelector('.said')
  const close = () => { sure.hidden = true; ask.hidden = false; ask.focus() }
  ask.onclick = () => { answer.textContent = ''; sure.hidden = false; ask.hidden = true; box.querySelector('.no').focus() }
  box.querySelector('.no').onclick = close
  box.onkeydown = event => { if (event.key === 'Escape' && !sure.hidden) close() }
  box.querySelector('.yes').onclick = async () => {
    try {
      const done = await fetch('/pass-through?state=' + box.dataset.state, { method: 'PUT' })
      close()
      if (!done.ok) answer.textContent = 'Not switched: ' + (await done.text())
    } catch (error) {
      close()
      answer.textContent = 'Not switched: the server does not answer'
    }
    refresh()
  }
}

pauseButton.hidden = false
pauseButton.onclick = () => {
  isPaused = !isPaused
  pauseButton.textContent = isPaused ? 'Go on' : 'Pause'
  say(isPaused ? 'Paused' : 'Live')
  refresh()
}
say('Live')
useSwitch()
;(async () => {
  for (;;) {
    await new Promise(done => setTimeout(done, 2000))
    await refresh()
  }
})()
`
