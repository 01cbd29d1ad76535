// Questions to the server. A refusal becomes an error with the server's own sentence.

export class Refusal extends Error {
  constructor(told) {
    super(told.error);
    this.similar = told.similar ?? [];
    this.elsewhere = told.elsewhere ?? [];
  }
}

export async function ask(path, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  let answer;
  try {
    answer = await fetch(query ? `${path}?${query}` : path);
  } catch {
    throw new Refusal({ error: "calque does not answer any more: the command was ended. Start it again." });
  }
  if (!answer.ok) {
    const told = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
    throw new Refusal(told);
  }
  return answer;
}

export async function askJson(path, parameters) {
  return (await ask(path, parameters)).json();
}
