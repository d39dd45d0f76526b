/** HTML as text: whatever is put into a template is escaped, unless it is `Html` itself. User
 *  agents, names of resources and messages of servers come from strangers. */

export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Values that a template takes. Lists are joined; undefined is left out. */
export type HtmlValue = Html | string | number | undefined | readonly HtmlValue[]

export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = strings[0] ?? ''
  values.forEach((value, i) => {
    text += textOf(value) + (strings[i + 1] ?? '')
  })
  return new Html(text)
}

function textOf(value: HtmlValue): string {
  if (value === undefined) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(textOf).join('')
  return escaped(String(value))
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, one => escapes[one] ?? '')
}
