/** Tables of rules: text files whose rows say what is set in a right object, and what comes of it.
 *
 *      == checkPorts                              the function whose rule it is
 *
 *      Service [recorded]                         an object of bases.json; where the texts are from
 *        spec.ports[0].port: 70000                what is set: a path, and JSON or `absent`
 *        => spec.ports[0].port: Invalid value: …  the errors, sorted; none if it is right
 *        -> spec.ports[0].protocol: "TCP"         a member of what comes of it
 *
 *  After the name, `update` has the rules of updates: the object before is the right one, and
 *  `was` before a path sets something there; `update status` is an update of that subresource.
 *  `{{a*300}}` is 300 times a. `#` begins a comment. */

export interface Row {
  /** For messages, as `services.rows:31`. */
  readonly name: string
  readonly rule: string
  readonly base: string
  readonly isUpdate: boolean
  readonly subresource: string
  readonly origin: string
  readonly sets: readonly Setting[]
  readonly setsBefore: readonly Setting[]
  readonly expected: readonly string[]
  /** Members of the object that comes of it. */
  readonly results: readonly Setting[]
}

export interface Setting {
  readonly path: string
  /** Absent if undefined. */
  readonly value: unknown
}

export function rowsOf(file: string, text: string): Row[] {
  let rule = ''
  const rows: Row[] = []
  let lines: string[] = []
  const end = (number: number): void => {
    if (lines.length > 0) rows.push(rowOf(`${file}:${number - lines.length}`, rule, lines))
    lines = []
  }
  for (const [i, line] of [...text.split('\n'), ''].entries()) {
    if (line.startsWith('#')) continue
    if (line.startsWith('== ')) rule = line.slice(3).trim()
    else if (line.trim() === '') end(i + 1)
    else lines.push(line)
  }
  return rows
}

/** `spec.ports[0].port: 80`, `metadata.labels["a.b/c"]: absent` */
const setting =
  /^ {2}(was )?((?:[^\s:["]|\[\d+\]|\["(?:[^"\\]|\\.)*"\])+): (absent|["[{\-\dtfn].*)$/

function rowOf(name: string, rule: string, [head = '', ...lines]: readonly string[]): Row {
  const parts = /^([\w./-]+)( update)?(?: (\w+))? \[([^\]]+)\]$/.exec(head)
  if (parts === null) throw new Error(`${name}: not the head of a row: ${head}`)
  const [, base = '', update, subresource = '', origin = ''] = parts
  const sets: Setting[] = []
  const setsBefore: Setting[] = []
  const expected: string[] = []
  const results: Setting[] = []
  for (const line of lines.map(repeated)) {
    const set = setting.exec(line.replace(/^ {2}-> /, '  '))
    if (line.startsWith('  => ')) expected.push(JSON.parse(quoted(line.slice(5))) as string)
    else if (set === null) throw new Error(`${name}: not a line of a row: ${line}`)
    else {
      const [, was, path = '', json = ''] = set
      const value: unknown = json === 'absent' ? undefined : JSON.parse(json)
      const list = line.startsWith('  -> ') ? results : was === undefined ? sets : setsBefore
      list.push({ path, value })
    }
  }
  return {
    name,
    rule,
    base,
    isUpdate: update !== undefined,
    subresource,
    origin,
    sets,
    setsBefore,
    expected,
    results,
  }
}

/** The text with what stands for many of one character. */
function repeated(line: string): string {
  return line.replace(/\{\{([^{}*]+)\*(\d+)\}\}/g, (_, text: string, count: string) =>
    text.repeat(Number(count)),
  )
}

/** Texts of several lines are written as JSON. */
function quoted(text: string): string {
  return /^"(?:[^"\\]|\\.)*"$/.test(text) ? text : JSON.stringify(text)
}

/** A copy in which something else is set. */
export function withSettings<T extends object>(base: T, settings: readonly Setting[]): T {
  const copy = structuredClone(base)
  for (const { path, value } of settings) {
    const names = namesOf(path)
    const last = names.pop()
    let at = copy as Record<string | number, unknown>
    for (const [i, name] of names.entries()) {
      at[name] ??= typeof (names[i + 1] ?? last) === 'number' ? [] : {}
      at = at[name] as Record<string | number, unknown>
    }
    if (last === undefined) throw new Error(`no path: ${path}`)
    if (value !== undefined) at[last] = value
    else if (Array.isArray(at)) at.splice(Number(last), 1)
    else delete at[last]
  }
  return copy
}

/** The value at a path; undefined if there is none. */
export function valueAt(object: object, path: string): unknown {
  let value: unknown = object
  for (const name of namesOf(path)) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Record<string | number, unknown>)[name]
  }
  return value
}

/** `spec.ports[0]["a.b"]` as its names. */
function namesOf(path: string): (string | number)[] {
  const found = path.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|\.?([^.[\]]+)/g)
  return [...found].map(([, index, key, name = '']) => {
    if (index !== undefined) return Number(index)
    return key === undefined ? name : (JSON.parse(key) as string)
  })
}
