/** Buttons that copy a text. */

import { button, el } from './elements.ts'

const saidMs = 1500

export function copyButton(title: string, text: () => string): HTMLButtonElement {
  const copying = button(title, () => {
    void copy(text()).then(isCopied => {
      copying.textContent = isCopied ? 'Copied' : 'Not copied'
      setTimeout(() => (copying.textContent = title), saidMs)
    })
  })
  return copying
}

/** Browsers give pages without TLS no clipboard, but the old command. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const place = el('textarea', { class: 'unseen' })
    place.value = text
    document.body.append(place)
    const { activeElement } = document
    place.select()
    const isCopied = document.execCommand('copy')
    place.remove()
    if (activeElement instanceof HTMLElement) activeElement.focus({ preventScroll: true })
    return isCopied
  }
}
