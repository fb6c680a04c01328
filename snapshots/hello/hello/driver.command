#!/usr/bin/env python3
import json
import os
import pathlib
import urllib.request

base_url = os.environ["NEMO_GYM_POLICY_BASE_URL"]
model = os.environ["NEMO_GYM_POLICY_MODEL_NAME"]
rollouts = pathlib.Path(os.environ["NEMO_GYM_BENCH_DIR"], "artifacts", "rollouts.jsonl")
# The server is on this machine, whatever proxy the environment names.
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(question):
    body = {"model": model, "messages": [{"role": "user", "content": question}]}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['NEMO_GYM_POLICY_API_KEY']}"}
    request = urllib.request.Request(f"{base_url}/chat/completions", json.dumps(body).encode(), headers)
    with opener.open(request) as response:
        return json.load(response)["choices"][0]["message"]["content"]


with rollouts.open("w") as out:
    for question in ["Say hello", "Say good morning", "Say it again, Sam"]:
        answer = ask(question)
        print(f"{question!r} -> {answer!r}")
        reward = float(answer == question.split()[-1])
        out.write(json.dumps({"question": question, "answer": answer, "reward": reward}) + "\n")
