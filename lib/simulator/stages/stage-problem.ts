/** A stage that cannot be used, with its name and the reason. */
export class StageProblem extends Error {}
