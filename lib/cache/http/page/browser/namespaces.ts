/** Suggestions of namespaces: those that the viewer may list, else those that were looked at. */

import { askJson } from './api.ts'
import { el, type InputField } from './elements.ts'

const suggestedMax = 1000
const visited = new Set<string>()

/** Suggests them in a field. Nobody is shown a name that the server would not tell. */
export async function suggestNamespaces(
  { input, node }: InputField,
  signal: AbortSignal,
): Promise<void> {
  if (input.value !== '') visited.add(input.value)
  const list = el('datalist', { id: 'namespaces' })
  input.setAttribute('list', list.id)
  node.append(list)
  const url = `/views/api/v1/namespaces?columns=name&revision=0&pageSize=${suggestedMax}`
  let names = [...visited]
  try {
    const { rows } = await askJson<{ rows: readonly { name: string }[] }>(
      url,
      'application/json',
      signal,
    )
    names = rows.map(({ name }) => name)
  } catch {
    // Whoever may not list them types their names.
  }
  list.replaceChildren(...names.map(value => el('option', { value })))
}
