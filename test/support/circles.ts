/** The circles among nodes, one for each knot: a walk from every node back to itself. */
export function circlesOf(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const circles: string[][] = []
  const done = new Set<string>()
  const walk = (node: string, path: readonly string[]): void => {
    const at = path.indexOf(node)
    if (at >= 0) circles.push(path.slice(at))
    if (at >= 0 || done.has(node)) return
    for (const next of graph.get(node) ?? []) walk(next, [...path, node])
    done.add(node)
  }
  for (const node of graph.keys()) walk(node, [])
  return circles
}
