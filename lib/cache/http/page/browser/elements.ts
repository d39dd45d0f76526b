/** Elements of the page. Whatever comes from the API is made into text nodes, never into HTML. */

export const content: HTMLElement = elementOf('objects-content')
const state: HTMLElement = elementOf('objects-state')

/** The element of the page with that id, which the server always sends. */
export function elementOf(id: string): HTMLElement {
  const element = document.getElementById(id)
  if (element === null) throw new Error(`the page has no element ${id}`)
  return element
}

export function el<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string>> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  element.append(...children)
  return element
}

/** Shows the state of what is looked at, which screen readers say. */
export function tell(text: string): void {
  if (state.textContent !== text) state.textContent = text
}

export function button(text: string, act: () => void): HTMLButtonElement {
  const element = el('button', { type: 'button' }, text)
  element.onclick = act
  return element
}

export interface InputField {
  readonly input: HTMLInputElement
  readonly node: HTMLLabelElement
}

export function field(
  label: string,
  type: 'search' | 'text' | 'checkbox',
  act: (input: HTMLInputElement) => void,
): InputField {
  const input = el('input', { type, autocomplete: 'off', spellcheck: 'false' })
  input.addEventListener(type === 'search' ? 'input' : 'change', () => act(input))
  const children = type === 'checkbox' ? [input, ` ${label}`] : [`${label} `, input]
  return { input, node: el('label', {}, ...children) }
}
